//! Paths as they really are.

use std::path::{Component, Path, PathBuf};

/// `path` with symbolic links resolved as far as it exists, and `.` and `..` taken out of the rest.
pub(super) fn real_path(path: &Path) -> PathBuf {
    let mut tail = Vec::new();
    let mut head = path;
    loop {
        if let Ok(real) = head.canonicalize() {
            return tail.iter().rev().fold(
                real,
                |real: PathBuf, part: &Component<'_>| match part {
                    Component::ParentDir => real.parent().map(Path::to_path_buf).unwrap_or(real),
                    Component::Normal(name) => real.join(name),
                    _ => real,
                },
            );
        }
        let Some(last) = head.components().next_back() else {
            return path.to_path_buf();
        };
        tail.push(last);
        let Some(parent) = head.parent() else {
            return path.to_path_buf();
        };
        head = parent;
    }
}
