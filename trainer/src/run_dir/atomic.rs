//! Files that are there whole or not at all.

use std::fs::{self, File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use tempfile::NamedTempFile;

/// Replaces a small file by a new one of mode 0644 (less the umask).
///
/// # Errors
/// When the folder can't be written; the old file is then still there.
pub fn replace_file(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut temporary = temporary_beside(path)?;
    temporary.write_all(content)?;
    temporary.persist(path)?;
    Ok(())
}

/// A temporary file, named `.NAME.*.tmp`, in the folder of `path`.
pub(super) fn temporary_beside(path: &Path) -> io::Result<NamedTempFile> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    tempfile::Builder::new()
        .prefix(&format!(".{name}."))
        .suffix(".tmp")
        .permissions(Permissions::from_mode(0o644))
        .tempfile_in(folder(path))
}

/// Makes renames and new names in the folder of `path` outlive a power cut.
pub(super) fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(folder(path))?.sync_all()
}

/// Removes what a killed writer left behind in `folder`.
pub(super) fn remove_leftovers(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with('.') && name.ends_with(".tmp") && entry.file_type()?.is_file() {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

fn folder(path: &Path) -> &Path {
    path.parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_new_file_is_whole_and_readable_by_others() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("status.json");
        fs::write(&path, "old").unwrap();
        replace_file(&path, b"new").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(
            fs::metadata(&path).unwrap().permissions().mode() & 0o700,
            0o600
        );
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn leftovers_go_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        for name in [".last.pt.abc.tmp", "last.pt", ".hidden", "x.tmp"] {
            fs::write(dir.path().join(name), "").unwrap();
        }
        remove_leftovers(dir.path()).unwrap();
        let mut names: Vec<_> = fs::read_dir(dir.path())
            .unwrap()
            .map(|e| e.unwrap().file_name())
            .collect();
        names.sort();
        assert_eq!(names, [".hidden", "last.pt", "x.tmp"]);
    }
}
