//! Which files a data set consists of.

use super::{
    digest::{hexadecimal, of_file},
    error::{Result, StageError},
};
use sha2::{Digest, Sha256};
use std::{
    fs,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

/// Deeper than any data set and shallower than a loop of links.
const DEEPEST: usize = 40;

/// One file, with its path relative to the data set's root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Item {
    pub(super) relative: PathBuf,
    pub(super) bytes: u64,
}

/// Every file below `root` that isn't hidden, sorted by path; links are followed.
pub(super) fn list(root: &Path) -> Result<Vec<Item>> {
    let mut items = Vec::new();
    collect(root, Path::new(""), 0, &mut items)?;
    items.sort_by(|left, right| {
        let bytes = |item: &Item| item.relative.as_os_str().as_bytes().to_vec();
        bytes(left).cmp(&bytes(right))
    });
    Ok(items)
}

fn collect(root: &Path, below: &Path, depth: usize, items: &mut Vec<Item>) -> Result<()> {
    let folder = root.join(below);
    if depth > DEEPEST {
        return Err(StageError::new(
            format!("{}: more than {DEEPEST} folders deep", folder.display()),
            "a symbolic link that points to a folder above itself goes round for ever: remove it",
        ));
    }
    for entry in fs::read_dir(&folder).map_err(StageError::io("can't be listed", &folder))? {
        let entry = entry.map_err(StageError::io("can't be listed", &folder))?;
        let name = entry.file_name();
        if name.as_bytes().starts_with(b".") {
            continue;
        }
        let path = entry.path();
        let relative = below.join(&name);
        let metadata = fs::metadata(&path).map_err(|error| {
            StageError::new(
                format!("{}: {error}", path.display()),
                "a symbolic link whose target is gone: restore the target or remove the link",
            )
        })?;
        if metadata.is_dir() {
            collect(root, &relative, depth + 1, items)?;
        } else if metadata.is_file() {
            items.push(Item {
                relative,
                bytes: metadata.len(),
            });
        } else {
            return Err(StageError::new(
                format!("{} is neither a file nor a folder", path.display()),
                "move sockets, pipes and devices out of the data set",
            ));
        }
    }
    Ok(())
}

pub(super) fn total(items: &[Item]) -> u64 {
    items.iter().map(|item| item.bytes).sum()
}

/// A hash over names and contents, in the order of the listing.
#[derive(Default)]
pub(super) struct Fingerprint(Sha256);

impl Fingerprint {
    /// Adds one file by its path and the hash of its content.
    pub(super) fn add(&mut self, relative: &Path, content: &str) {
        self.0.update(content);
        self.0.update(b"  ");
        self.0.update(relative.as_os_str().as_bytes());
        // No file name holds a NUL, so no two listings run together to the same bytes.
        self.0.update(b"\0");
    }

    pub(super) fn finish(self) -> String {
        hexadecimal(self.0)
    }
}

/// Reads every file once.
pub(super) fn fingerprint(root: &Path, items: &[Item]) -> Result<String> {
    let mut all = Fingerprint::default();
    for item in items {
        let path = root.join(&item.relative);
        let content = of_file(&path).map_err(StageError::io("can't be read", &path))?;
        all.add(&item.relative, &content);
    }
    Ok(all.finish())
}
