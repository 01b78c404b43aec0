//! `data.yaml`: which images, which classes.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::annotations::category_names;
use crate::read::usual_annotations;
use crate::selection::{ClassSelection, SINGLE_NAME};
use crate::split::Split;
use crate::{Error, Result, file as files};

/// A dataset description, resolved: every path is joined to the dataset's root.
///
/// The root is the `path` key; where that is relative it is relative to the YAML file, and where it is
/// missing it is the YAML file's folder. Nothing outside the file, no environment variable and no
/// well-known folder, changes what it means, so that a packed dataset means the same on every machine.
#[derive(Debug, Clone, PartialEq)]
pub struct DataConfig {
    /// The YAML file this was read from.
    pub file: PathBuf,
    /// What the split entries are relative to.
    pub root: PathBuf,
    /// Number of classes: the `nc` key where it is given, else the number of names.
    pub nc: usize,
    /// Exactly `nc` names by class id; a class without a name is called `class_ID`.
    pub names: Vec<String>,
    entries: BTreeMap<&'static str, Vec<PathBuf>>,
    annotations: BTreeMap<&'static str, PathBuf>,
    /// The names before [`Self::select`], by which a COCO file's categories are known.
    pub(crate) source_names: Vec<String>,
    pub(crate) selection: ClassSelection,
}

impl DataConfig {
    /// Reads a dataset description.
    ///
    /// `path` is the YAML file, or a folder that holds `data.yaml` or exactly one `.yaml` file.
    ///
    /// # Errors
    /// When there is no such file, it isn't YAML (with line and column), it names no class, or it
    /// describes another task (`kpt_shape`).
    pub fn load(path: &Path) -> Result<Self> {
        let file = find_file(path)?;
        let text = files::read_text(&file).map_err(Error::read(&file))?;
        let raw: Raw = parse(&file, &text)?;
        if raw.kpt_shape.is_some() {
            return Err(Error::Config {
                path: file,
                problem: "'kpt_shape' makes this a pose dataset".into(),
                remedy: "only detection boxes are supported: export the dataset as detection"
                    .into(),
            });
        }
        resolve(file, raw)
    }

    /// The folders and lists of a split, joined to the root; empty when the split isn't defined.
    pub fn entries(&self, split: Split) -> &[PathBuf] {
        self.entries.get(split.as_str()).map_or(&[], Vec::as_slice)
    }

    /// The COCO file of a split, where the boxes aren't in text files.
    pub fn annotation_file(&self, split: Split) -> Option<&Path> {
        self.annotations.get(split.as_str()).map(PathBuf::as_path)
    }

    /// Leaves the boxes of all but some classes out, or makes one class of them, of whatever is read from here on.
    ///
    /// # Errors
    /// When a class is none of the dataset's.
    pub fn select(mut self, selection: ClassSelection) -> Result<Self> {
        let source_classes = self.source_names.len();
        if let Some(class) = selection
            .classes
            .iter()
            .find(|class| **class >= source_classes)
        {
            return Err(Error::Config {
                path: self.file,
                problem: format!(
                    "there is no class {class}, the last is {}",
                    source_classes - 1
                ),
                remedy: "select ids of 'names', which count from 0".into(),
            });
        }
        self.names = match selection.single {
            true => vec![SINGLE_NAME.to_owned()],
            false => self.source_names.clone(),
        };
        self.nc = self.names.len();
        self.selection = selection;
        Ok(self)
    }
}

/// The description itself, where `path` may be the folder that holds it.
pub(crate) fn find_file(path: &Path) -> Result<PathBuf> {
    if !path.is_dir() {
        return Ok(path.to_path_buf());
    }
    let usual = path.join("data.yaml");
    if usual.is_file() {
        return Ok(usual);
    }
    let mut candidates = Vec::new();
    for entry in fs::read_dir(path).map_err(Error::read(path))? {
        let file = entry.map_err(Error::read(path))?.path();
        if file
            .extension()
            .is_some_and(|suffix| suffix == "yaml" || suffix == "yml")
        {
            candidates.push(file);
        }
    }
    candidates.sort();
    match candidates.as_slice() {
        [only] => Ok(only.clone()),
        [] => Err(Error::NoConfig {
            dir: path.to_path_buf(),
            found: "no .yaml file".into(),
        }),
        several => {
            let names: Vec<_> = several
                .iter()
                .filter_map(|file| file.file_name())
                .map(|name| name.to_string_lossy())
                .collect();
            Err(Error::NoConfig {
                dir: path.to_path_buf(),
                found: names.join(", "),
            })
        }
    }
}

/// The file's text as a value; an error names the file, line and column.
pub(crate) fn parse<T: serde::de::DeserializeOwned>(file: &Path, text: &str) -> Result<T> {
    let options = serde_saphyr::options! { with_snippet: false };
    serde_saphyr::from_str_with_options(text, options).map_err(|error| {
        let (line, column) = error
            .location()
            .map_or((0, 0), |at| (at.line(), at.column()));
        Error::Yaml {
            path: file.to_path_buf(),
            line,
            column,
            message: error.to_string(),
        }
    })
}

fn resolve(file: PathBuf, raw: Raw) -> Result<DataConfig> {
    let folder = file.parent().unwrap_or(Path::new("")).to_path_buf();
    let root = raw
        .path
        .map_or_else(|| folder.clone(), |path| folder.join(path));
    let annotations: BTreeMap<&'static str, PathBuf> = Split::ALL
        .into_iter()
        .filter_map(|split| {
            let path = raw.annotations.as_ref()?.get(split.as_str())?.as_ref()?;
            Some((split.as_str(), root.join(path)))
        })
        .collect();
    let coco = annotations.values().next().cloned();
    let coco = coco.or_else(|| {
        Split::ALL
            .into_iter()
            .find_map(|split| usual_annotations(&root, split))
    });
    let declared_names = match (raw.names, coco) {
        (Some(Names(names)), _) => names,
        (None, Some(coco)) => (0..).zip(category_names(&coco)?).collect(),
        (None, None) => BTreeMap::new(),
    };
    let nc = match raw.nc {
        Some(nc) if nc >= 1.0 && nc.fract() == 0.0 && nc <= 1e6 => nc as usize,
        Some(nc) => {
            return Err(Error::Config {
                path: file,
                problem: format!("nc is {nc}"),
                remedy: "write the number of classes, a whole number of at least 1".into(),
            });
        }
        None => declared_names.len(),
    };
    if nc == 0 {
        return Err(Error::Config {
            path: file,
            problem: "the file names no class".into(),
            remedy: "add 'names:' with one name per class id".into(),
        });
    }
    let names: Vec<String> = (0..nc)
        .map(|id| {
            declared_names
                .get(&(id as i64))
                .cloned()
                .unwrap_or_else(|| format!("class_{id}"))
        })
        .collect();
    let mut entries = BTreeMap::new();
    for (split, value) in [
        (Split::Train, raw.train),
        (Split::Val, raw.val),
        (Split::Test, raw.test),
    ] {
        let Some(OneOrMany(paths)) = value else {
            continue;
        };
        let joined = paths
            .iter()
            .filter(|path| !path.is_empty())
            .map(|path| root.join(path))
            .collect();
        entries.insert(split.as_str(), joined);
    }
    Ok(DataConfig {
        file,
        root,
        nc,
        source_names: names.clone(),
        names,
        entries,
        annotations,
        selection: ClassSelection::default(),
    })
}

/// The keys of the file that matter here; every other key is somebody else's and ignored.
#[derive(Deserialize)]
struct Raw {
    path: Option<String>,
    train: Option<OneOrMany>,
    val: Option<OneOrMany>,
    test: Option<OneOrMany>,
    nc: Option<f64>,
    names: Option<Names>,
    kpt_shape: Option<IgnoredAny>,
    annotations: Option<BTreeMap<String, Option<String>>>,
}

/// A path or a list of paths.
#[derive(Default)]
pub(crate) struct OneOrMany(pub(crate) Vec<String>);

impl<'de> Deserialize<'de> for OneOrMany {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        struct Paths;
        impl<'de> Visitor<'de> for Paths {
            type Value = OneOrMany;
            fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
                formatter.write_str("a path or a list of paths")
            }
            fn visit_str<E>(self, path: &str) -> std::result::Result<OneOrMany, E> {
                Ok(OneOrMany(vec![path.to_owned()]))
            }
            fn visit_seq<A: SeqAccess<'de>>(
                self,
                mut list: A,
            ) -> std::result::Result<OneOrMany, A::Error> {
                let mut paths = Vec::new();
                while let Some(path) = list.next_element()? {
                    paths.push(path);
                }
                Ok(OneOrMany(paths))
            }
        }
        deserializer.deserialize_any(Paths)
    }
}

/// Class names: a list, whose positions are the ids, or a map from id to name.
struct Names(BTreeMap<i64, String>);

impl<'de> Deserialize<'de> for Names {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        struct ListOrMap;
        impl<'de> Visitor<'de> for ListOrMap {
            type Value = Names;
            fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
                formatter.write_str("a list of class names, or a map from class id to name")
            }
            fn visit_seq<A: SeqAccess<'de>>(
                self,
                mut list: A,
            ) -> std::result::Result<Names, A::Error> {
                let mut names = BTreeMap::new();
                while let Some(name) = list.next_element()? {
                    names.insert(names.len() as i64, name);
                }
                Ok(Names(names))
            }
            fn visit_map<A: MapAccess<'de>>(
                self,
                mut map: A,
            ) -> std::result::Result<Names, A::Error> {
                let mut names = BTreeMap::new();
                while let Some((id, name)) = map.next_entry()? {
                    names.insert(id, name);
                }
                Ok(Names(names))
            }
        }
        deserializer.deserialize_any(ListOrMap)
    }
}

#[cfg(test)]
mod tests;
