//! Reading and writing the agent's own files.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;

/// Replaces a file: a reader sees the old or the new content, also after a crash.
pub(crate) fn write_atomically(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    // Two processes may write the same file: each has its own partial one.
    let partial = path.with_file_name(format!(".{name}.{}.partial", std::process::id()));
    let written = File::create(&partial).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_data()?;
        fs::rename(&partial, path)
    });
    if written.is_err() {
        let _ = fs::remove_file(&partial);
    }
    written
}

/// Replaces a file by a value's JSON, with a newline at the end.
pub(crate) fn write_json(path: &Path, value: &impl Serialize) -> io::Result<()> {
    let mut bytes = serde_json::to_vec_pretty(value)?;
    bytes.push(b'\n');
    write_atomically(path, &bytes)
}

/// A file's value; `None` when there is no such file.
pub(crate) fn read_json<T: DeserializeOwned>(path: &Path) -> io::Result<Option<T>> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(serde_json::from_slice(&bytes)?)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// At most the last `limit` bytes after `from`, starting with a whole line when something was cut off.
pub(crate) fn tail(path: &Path, from: u64, limit: u64) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    let start = from.min(length).max(length.saturating_sub(limit));
    file.seek(SeekFrom::Start(start))?;
    let mut bytes = Vec::new();
    file.take(limit).read_to_end(&mut bytes)?;
    if start > from
        && let Some(newline) = bytes.iter().position(|byte| *byte == b'\n')
    {
        bytes.drain(..=newline);
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tail_starts_with_a_whole_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        fs::write(&path, "first\nsecond\nthird\n").unwrap();
        assert_eq!(tail(&path, 0, 100).unwrap(), b"first\nsecond\nthird\n");
        assert_eq!(tail(&path, 6, 100).unwrap(), b"second\nthird\n");
        assert_eq!(tail(&path, 0, 9).unwrap(), b"third\n");
        assert_eq!(tail(&path, 900, 9).unwrap(), b"");
    }

    #[test]
    fn a_missing_file_is_none_and_a_torn_one_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("value.json");
        assert_eq!(read_json::<u32>(&path).unwrap(), None);
        write_json(&path, &7).unwrap();
        assert_eq!(read_json::<u32>(&path).unwrap(), Some(7));
        fs::write(&path, "").unwrap();
        assert!(read_json::<u32>(&path).is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
