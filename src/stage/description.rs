//! The description in the copy: the same data set, with paths that hold on any machine.
//!
//! LibreYOLO looks up a relative `path:` in the user's data-set folder before it looks beside the
//! file, so even `path: .` can point somewhere else on the box. Without the key the root is the
//! file's own folder, always. So a description that has the key, or absolute paths, is written anew.

use super::{
    error::{Result, StageError},
    layout::Layout,
};
use gpurun_dataset::{DataConfig, Split};
use serde::Deserialize;
use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

const SPLITS: [Split; 3] = [Split::Train, Split::Val, Split::Test];

/// The text for the copy; `None` when the original can be copied as it is.
///
/// # Errors
/// An entry or a line of an image list that leads out of the data set: it wouldn't be on the box.
pub(super) fn portable(layout: &Layout) -> Result<Option<String>> {
    let Some(config) = &layout.config else {
        return Ok(None);
    };
    let mut entries: Vec<(Split, Vec<PathBuf>)> = Vec::new();
    for split in SPLITS {
        let inside = config
            .entries(split)
            .iter()
            .map(|entry| entry_inside(layout, config, split, entry))
            .collect::<Result<_>>()?;
        entries.push((split, inside));
    }
    if layout.describes_from_root(config) && !says_where_it_is(&config.file)? {
        return Ok(None);
    }
    Ok(Some(write(config, &entries)))
}

fn entry_inside(
    layout: &Layout,
    config: &DataConfig,
    split: Split,
    entry: &Path,
) -> Result<PathBuf> {
    let Some(inside) = layout.inside(entry) else {
        return Err(StageError::new(
            format!(
                "{}: '{}' leads to {}, outside of the data set {}",
                config.file.display(),
                split.as_str(),
                entry.display(),
                layout.root.display()
            ),
            "a data set travels as one folder: move the images into it, or set 'path' to a folder that holds all",
        ));
    };
    if entry.is_file() {
        check_list(layout, entry)?;
    }
    Ok(inside)
}

/// A list of images must name them relative to itself, or it names nothing on the box.
fn check_list(layout: &Layout, list: &Path) -> Result<()> {
    let text = fs::read_to_string(list).map_err(StageError::io("can't be read", list))?;
    let folder = list.parent().unwrap_or(Path::new(""));
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if Path::new(line).is_absolute() || layout.inside(&folder.join(line)).is_none() {
            return Err(StageError::new(
                format!(
                    "{}:{}: {line} won't be there on the box",
                    list.display(),
                    index + 1
                ),
                "write the images of a list relative to the list, and keep them inside the data set",
            ));
        }
    }
    Ok(())
}

/// Whether the file has a `path` key or an absolute entry.
fn says_where_it_is(file: &Path) -> Result<bool> {
    #[derive(Deserialize)]
    struct Paths {
        path: Option<serde_json::Value>,
        train: Option<serde_json::Value>,
        val: Option<serde_json::Value>,
        test: Option<serde_json::Value>,
    }
    let text = fs::read_to_string(file).map_err(StageError::io("can't be read", file))?;
    let paths: Paths = serde_saphyr::from_str(&text).map_err(|error| {
        StageError::new(format!("{}: {error}", file.display()), "correct the YAML")
    })?;
    let is_absolute = |value: &serde_json::Value| {
        value
            .as_str()
            .is_some_and(|path| Path::new(path).is_absolute())
    };
    let any_absolute =
        [paths.train, paths.val, paths.test]
            .iter()
            .flatten()
            .any(|value| match value {
                serde_json::Value::Array(items) => items.iter().any(is_absolute),
                one => is_absolute(one),
            });
    Ok(paths.path.is_some() || any_absolute)
}

fn write(config: &DataConfig, entries: &[(Split, Vec<PathBuf>)]) -> String {
    let original = config
        .file
        .file_name()
        .unwrap_or_default()
        .to_string_lossy();
    let mut text = format!("# Made by gpurun from {original}: paths start at this file.\n");
    for (split, paths) in entries.iter().filter(|(_, paths)| !paths.is_empty()) {
        // A JSON string is a YAML string.
        let quoted: Vec<String> = paths
            .iter()
            .map(|path| {
                if path.as_os_str().is_empty() {
                    Path::new(".")
                } else {
                    path
                }
            })
            .map(|path| serde_json::Value::from(path.to_string_lossy()).to_string())
            .collect();
        let value = match quoted.as_slice() {
            [one] => one.clone(),
            several => format!("[{}]", several.join(", ")),
        };
        let _infallible = writeln!(text, "{}: {value}", split.as_str());
    }
    let _infallible = writeln!(text, "nc: {}\nnames:", config.nc);
    for (id, name) in config.names.iter().enumerate() {
        let _infallible = writeln!(text, "  {id}: {}", serde_json::Value::from(name.as_str()));
    }
    text
}
