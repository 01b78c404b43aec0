//! The list of the set's files, by which a finished set is known and a damaged one noticed.
//!
//! Each line is `sha256 size modified path`. A file whose size and time of change are as listed
//! counts as sound without being read, as in git's index; any other is hashed.

use std::fs::{self, File, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use sha2::{Digest, Sha256};

use super::error::{Error, IoContext};

/// Where `torch-sys` looks for the version.
pub(super) const BUILD_VERSION: &str = "build-version";
const MANIFEST: &str = "manifest.txt";
/// Names the pins a set was made from: a change of them makes an old set absent.
const HEADER: &str = concat!("libtorch 2.13.0, set 1, made by ", env!("CARGO_PKG_NAME"));

/// What lies in the folder.
#[derive(Debug, PartialEq)]
pub(super) enum State {
    Sound,
    Damaged(PathBuf),
    Absent,
}

/// One file of the set.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) path: PathBuf,
    pub(super) sha256: String,
    size: u64,
    modified: u128,
}

impl Entry {
    /// Describes a file just written.
    pub(super) fn new(dir: &Path, path: &Path, sha256: String) -> Result<Self, Error> {
        let target = dir.join(path);
        let metadata = fs::metadata(&target).context(&target)?;
        Ok(Self {
            path: path.into(),
            sha256,
            size: metadata.len(),
            modified: modified(&metadata),
        })
    }

    fn parse(line: &str) -> Option<Self> {
        let mut fields = line.splitn(4, ' ');
        Some(Self {
            sha256: fields.next()?.into(),
            size: fields.next()?.parse().ok()?,
            modified: fields.next()?.parse().ok()?,
            path: fields.next()?.into(),
        })
    }

    fn is_sound(&self, dir: &Path, verify: bool) -> Result<bool, Error> {
        let target = dir.join(&self.path);
        let Ok(metadata) = fs::metadata(&target) else {
            return Ok(false);
        };
        if metadata.len() != self.size {
            return Ok(false);
        }
        if modified(&metadata) == self.modified && !verify {
            return Ok(true);
        }
        Ok(sha256_of(&target)? == self.sha256)
    }
}

/// Looks at every file of the set; `verify` reads them all.
pub(super) fn check(dir: &Path, verify: bool) -> Result<State, Error> {
    let Ok(text) = fs::read_to_string(dir.join(MANIFEST)) else {
        return Ok(State::Absent);
    };
    let mut lines = text.lines();
    if lines.next() != Some(HEADER) {
        return Ok(State::Damaged(dir.join(MANIFEST)));
    }
    for line in lines {
        let Some(entry) = Entry::parse(line) else {
            return Ok(State::Damaged(dir.join(MANIFEST)));
        };
        if !entry.is_sound(dir, verify)? {
            return Ok(State::Damaged(dir.join(entry.path)));
        }
    }
    Ok(State::Sound)
}

/// Whether the folder was filled by this command, finished or not.
pub(super) fn was_ours(dir: &Path) -> bool {
    dir.join(MANIFEST).exists()
}

/// Takes the marks of a finished set away.
pub(super) fn remove(dir: &Path) -> Result<(), Error> {
    for name in [MANIFEST, BUILD_VERSION] {
        let path = dir.join(name);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(error).context(&path);
            }
            _ => {}
        }
    }
    Ok(())
}

/// Writes the list; the set is finished by it.
pub(super) fn write(dir: &Path, entries: &[Entry]) -> Result<(), Error> {
    let mut text = format!("{HEADER}\n");
    for entry in entries {
        let Entry {
            path,
            sha256,
            size,
            modified,
        } = entry;
        text.push_str(&format!("{sha256} {size} {modified} {}\n", path.display()));
    }
    let part = dir.join(format!("{MANIFEST}.part"));
    fs::write(&part, text).context(&part)?;
    fs::rename(&part, dir.join(MANIFEST)).context(&part)
}

pub(super) fn sha256_of(path: &Path) -> Result<String, Error> {
    let mut hasher = Sha256::new();
    io::copy(&mut File::open(path).context(path)?, &mut hasher).context(path)?;
    Ok(hex(&hasher.finalize()))
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn modified(metadata: &Metadata) -> u128 {
    let since_epoch = metadata
        .modified()
        .ok()
        .and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    since_epoch.unwrap_or_default().as_nanos()
}

#[cfg(test)]
mod tests {
    use super::super::unpack;
    use super::*;

    fn set() -> tempfile::TempDir {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let entries = ["lib/a b.so", "include/c.h"]
            .map(|path| unpack::write(dir.path(), path, b"abc").expect("written"));
        write(dir.path(), &entries).expect("written");
        dir
    }

    #[test]
    fn a_finished_set_is_sound_and_an_empty_folder_is_absent() {
        let dir = set();
        assert_eq!(check(dir.path(), false).expect("readable"), State::Sound);
        assert_eq!(check(dir.path(), true).expect("readable"), State::Sound);
        remove(dir.path()).expect("removable");
        assert_eq!(check(dir.path(), false).expect("readable"), State::Absent);
    }

    #[test]
    fn a_changed_byte_a_missing_file_and_a_cut_file_are_noticed() {
        for damage in [Some("abd"), Some("ab"), None] {
            let dir = set();
            let path = dir.path().join("lib/a b.so");
            match damage {
                Some(content) => fs::write(&path, content).expect("writable"),
                None => fs::remove_file(&path).expect("removable"),
            }
            // Coarse file clocks may give the new content the old time: then only reading tells.
            let state = check(dir.path(), damage == Some("abd")).expect("readable");
            assert_eq!(state, State::Damaged(path), "{damage:?}");
        }
    }

    #[test]
    fn a_touched_file_with_the_same_bytes_is_sound() {
        let dir = set();
        let file = File::options()
            .append(true)
            .open(dir.path().join("include/c.h"))
            .expect("openable");
        file.set_modified(UNIX_EPOCH).expect("settable");
        assert_eq!(check(dir.path(), false).expect("readable"), State::Sound);
    }

    #[test]
    fn a_set_of_other_pins_is_fetched_again() {
        let dir = set();
        fs::write(dir.path().join(MANIFEST), "libtorch 2.12.0\n").expect("writable");
        assert!(matches!(
            check(dir.path(), false).expect("readable"),
            State::Damaged(_)
        ));
    }
}
