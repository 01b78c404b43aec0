//! The description as it is written. [`DataConfig`](crate::DataConfig) refuses what a training can't use; here that
//! is a finding, and the rest of the dataset is looked at all the same.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::loose::Loose;
use crate::config::{OneOrMany, find_file, parse};
use crate::{Error, Result, Split, file as files};

pub(super) struct Description {
    pub(super) file: PathBuf,
    pub(super) root: PathBuf,
    /// The `nc` key, where it is a number.
    pub(super) declared_nc: Option<f64>,
    /// The `nc` key where it is a number, the number of names where it isn't given.
    pub(super) nc: Option<i64>,
    pub(super) names: BTreeMap<i64, String>,
    entries: [Vec<PathBuf>; 3],
    /// Whether the objects are said to have keypoints.
    pub(super) has_keypoints: bool,
}

impl Description {
    /// # Errors
    /// A file that isn't there, isn't YAML, or whose paths aren't paths.
    pub(super) fn read(path: &Path) -> Result<Self> {
        let file = find_file(path)?;
        let text = files::read_text(&file).map_err(Error::read(&file))?;
        let raw: Raw = parse(&file, &text)?;
        let folder = file.parent().unwrap_or(Path::new(""));
        let root = raw
            .path
            .map_or_else(|| folder.to_path_buf(), |path| folder.join(path));
        let entries = [raw.train, raw.val, raw.test].map(|paths| {
            let OneOrMany(paths) = paths.unwrap_or_default();
            let given = paths.iter().filter(|path| !path.is_empty());
            given.map(|path| root.join(path)).collect()
        });
        let names = raw.names.map_or_else(BTreeMap::new, class_names);
        let named = (!names.is_empty()).then_some(names.len() as i64);
        let (declared_nc, nc) = match raw.nc {
            Some(Loose::Number(nc)) if nc.is_finite() => (Some(nc), Some(whole(nc))),
            // Something that is no number says nothing, not even that the names count.
            Some(_) => (None, None),
            None => (None, named),
        };
        Ok(Self {
            root,
            declared_nc,
            nc,
            names,
            entries,
            has_keypoints: raw.kpt_shape.is_some(),
            file,
        })
    }

    /// The folders and lists of a split, joined to the root; empty when the split isn't defined.
    pub(super) fn entries(&self, split: Split) -> &[PathBuf] {
        &self.entries[split as usize]
    }

    /// How a class is called.
    pub(super) fn class_name(&self, class: i64) -> String {
        self.names
            .get(&class)
            .cloned()
            .unwrap_or_else(|| format!("class {class}"))
    }

    /// Whether a class is one of the dataset's; any is where nobody says how many there are.
    pub(super) fn has_class(&self, class: i64) -> bool {
        self.nc.is_none_or(|nc| (0..nc).contains(&class))
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "a fraction is dropped on purpose, and what is too large stays too large"
)]
fn whole(number: f64) -> i64 {
    number as i64
}

#[derive(Deserialize)]
struct Raw {
    path: Option<String>,
    train: Option<OneOrMany>,
    val: Option<OneOrMany>,
    test: Option<OneOrMany>,
    nc: Option<Loose>,
    names: Option<Loose>,
    kpt_shape: Option<IgnoredAny>,
}

/// Class names by id, as far as they are: a key that is no number names nothing, nor does a lone word.
fn class_names(written: Loose) -> BTreeMap<i64, String> {
    match written {
        Loose::List(names) => (0..).zip(names.into_iter().map(Loose::text)).collect(),
        Loose::Map(names) => names
            .into_iter()
            .filter_map(|(id, name)| Some((id.text().parse().ok()?, name.text())))
            .collect(),
        Loose::Text(_) | Loose::Number(_) | Loose::Other => BTreeMap::new(),
    }
}
