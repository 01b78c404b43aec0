//! Unpacking the wanted files of a wheel straight from the archive to their place.

use std::fs::{self, File};
use std::io::{self, BufReader, Read, Write};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::error::{Error, IoContext};
use super::manifest::{Entry, hex};

/// Where in the set an archive's entry belongs; `None` leaves it in the archive.
pub(super) type Pick = fn(&str) -> Option<PathBuf>;

/// Unpacks what `pick` wants, and returns each file with its hash.
pub(super) fn wheel(archive: &Path, pick: Pick, dir: &Path) -> Result<Vec<Entry>, Error> {
    let unsound = |source| Error::Archive {
        path: archive.into(),
        source,
    };
    let reader = BufReader::new(File::open(archive).context(archive)?);
    let mut zip = zip::ZipArchive::new(reader).map_err(unsound)?;
    let mut entries = Vec::new();
    for index in 0..zip.len() {
        let mut file = zip.by_index(index).map_err(unsound)?;
        if file.is_dir() {
            continue;
        }
        // `enclosed_name` refuses paths that leave the folder.
        let Some(path) = file.enclosed_name().and_then(|name| pick(name.to_str()?)) else {
            continue;
        };
        entries.push(place(&mut file, &path, dir)?);
    }
    Ok(entries)
}

/// Writes a small file of our own into the set.
pub(super) fn write(dir: &Path, path: &str, content: &[u8]) -> Result<Entry, Error> {
    place(&mut &content[..], Path::new(path), dir)
}

fn place(content: &mut impl Read, path: &Path, dir: &Path) -> Result<Entry, Error> {
    let target = dir.join(path);
    if let Some(parent) = target.parent() {
        fs::create_dir_all(parent).context(parent)?;
    }
    let mut tee = Tee {
        file: File::create(&target).context(&target)?,
        hasher: Sha256::new(),
    };
    io::copy(content, &mut tee).context(&target)?;
    Entry::new(dir, path, hex(&tee.hasher.finalize()))
}

/// Hashes what it writes, so that no file is read twice.
struct Tee {
    file: File,
    hasher: Sha256,
}

impl Write for Tee {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.hasher.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_picked_entries_are_written_and_none_outside_the_folder() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let archive = dir.path().join("a.whl");
        let mut zip = zip::ZipWriter::new(File::create(&archive).expect("creatable"));
        for name in ["torch/lib/a.so", "torch/b.py", "../torch/lib/evil.so"] {
            zip.start_file(name, zip::write::SimpleFileOptions::default())
                .expect("started");
            zip.write_all(b"abc").expect("written");
        }
        zip.finish().expect("finished");

        let set = dir.path().join("set");
        let entries = wheel(
            &archive,
            |name| name.ends_with(".so").then(|| name.into()),
            &set,
        )
        .expect("unpacked");
        let paths: Vec<_> = entries.iter().map(|entry| entry.path.clone()).collect();
        assert_eq!(paths, [Path::new("torch/lib/a.so")]);
        assert!(
            entries[0].sha256.starts_with("ba7816bf"),
            "{}",
            entries[0].sha256
        );
        assert!(!dir.path().join("torch").exists());
    }
}
