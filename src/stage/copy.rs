//! A directory's files into another, each whole or not there.

use super::{
    digest::{copy_hashed, of_file},
    error::{Result, StageError},
    listing::{Fingerprint, Item},
};
use std::{
    ffi::OsString,
    fs::{self, File},
    path::{Path, PathBuf},
};

/// What is in the folder afterwards.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Copied {
    pub(super) fingerprint: String,
    /// Files of the right size that were there already, read and not written again.
    pub(super) reused: u64,
}

/// Copies `items` from `root` to `folder`, going on where an earlier copy was killed. `progress`
/// gets the bytes and files that are done.
pub(super) fn copy(
    root: &Path,
    items: &[Item],
    folder: &Path,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Copied> {
    let mut all = Fingerprint::default();
    let (mut bytes, mut files, mut reused) = (0, 0, 0);
    for item in items {
        let to = folder.join(&item.relative);
        let is_there = fs::metadata(&to).is_ok_and(|found| found.len() == item.bytes);
        let content = if is_there {
            reused += 1;
            of_file(&to).map_err(StageError::io("can't be read", &to))?
        } else {
            copy_one(&root.join(&item.relative), &to)?
        };
        all.add(&item.relative, &content);
        bytes += item.bytes;
        files += 1;
        progress(bytes, files);
    }
    Ok(Copied {
        fingerprint: all.finish(),
        reused,
    })
}

/// One file by way of a name of its own, so that a file under its final name is complete.
fn copy_one(from: &Path, to: &Path) -> Result<String> {
    if let Some(parent) = to.parent() {
        fs::create_dir_all(parent).map_err(StageError::io("can't be made", parent))?;
    }
    let part = part_name(to);
    let mut source = File::open(from).map_err(StageError::io("can't be opened", from))?;
    let mut target = File::create(&part).map_err(StageError::io("can't be written", &part))?;
    let (_, content) = copy_hashed(&mut source, &mut target)
        .map_err(StageError::io("can't be copied to the box", from))?;
    fs::rename(&part, to).map_err(StageError::io("can't be renamed", &part))?;
    Ok(content)
}

fn part_name(path: &Path) -> PathBuf {
    // Hidden: no listing takes it for a file of the data set.
    let mut name = OsString::from(".part-");
    name.push(path.file_name().unwrap_or_default());
    path.with_file_name(name)
}
