//! A directory as destination: `<directory>/<run name>/best.pt`, `last.pt`, `manifest.json` …

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use gpurun_protocol::manifest::{self, Manifest};
use nix::fcntl::{PosixFadviseAdvice, posix_fadvise};

use super::names::{checked, partial_of};
use super::{Digest, Object, Sink, SinkError, Stored};

/// One run's folder in a directory.
#[derive(Debug, Clone)]
pub(crate) struct Directory {
    folder: PathBuf,
}

impl Directory {
    /// The folder of a run: `<to>/<run name>`, or `<to>/<run name>-<run id>` where another run of that
    /// name has its files already. Nothing is created yet.
    ///
    /// # Errors
    /// When the run's name can't name a folder, or the destination can't be read.
    pub(crate) fn of_run(to: &Path, run_name: &str, run_id: &str) -> Result<Directory, SinkError> {
        let plain = Directory {
            folder: to.join(checked(run_name)?),
        };
        let owner = plain
            .read(manifest::FILE_NAME)?
            .and_then(|bytes| serde_json::from_slice::<Manifest>(&bytes).ok())
            .map(|manifest| manifest.run_id);
        match owner {
            Some(owner) if owner != run_id => Ok(Directory {
                folder: to.join(checked(&format!("{run_name}-{run_id}"))?),
            }),
            _ => Ok(plain),
        }
    }

    fn path(&self, name: &str) -> Result<PathBuf, SinkError> {
        Ok(self.folder.join(checked(name)?))
    }

    /// Fills a partial file beside the target, proves it, then puts it in place.
    fn replace(
        &self,
        name: &str,
        expected: &Digest,
        fill: impl FnOnce(&mut File) -> io::Result<Digest>,
        changed: impl FnOnce() -> SinkError,
    ) -> Result<(), SinkError> {
        let target = self.path(name)?;
        let partial = partial_of(&target);
        let at_target = |error| SinkError::from_io(target.display().to_string(), error);

        let parent = target.parent().unwrap_or(&self.folder);
        fs::create_dir_all(parent).map_err(at_target)?;
        let outcome = (|| {
            let mut file = File::create(&partial).map_err(at_target)?;
            if fill(&mut file).map_err(at_target)? != *expected {
                return Err(changed());
            }
            file.sync_all().map_err(at_target)?;
            forget_cached(&file);
            compare(&partial, expected)?;
            fs::rename(&partial, &target).map_err(at_target)?;
            sync_folder(parent).map_err(at_target)
        })();
        if outcome.is_err() {
            // Gives the room back; a destination that can't even remove keeps a hidden partial file.
            let _ = fs::remove_file(&partial);
        }
        outcome
    }
}

impl Sink for Directory {
    fn location(&self) -> String {
        self.folder.display().to_string()
    }

    fn put(&self, object: &Object<'_>) -> Result<(), SinkError> {
        let path = object.source.display().to_string();
        let mut source =
            File::open(object.source).map_err(|error| SinkError::from_io(path.clone(), error))?;
        self.replace(
            object.name,
            object.digest,
            |file| Digest::of_copy(&mut source, file),
            || SinkError::SourceChanged { path },
        )
    }

    fn put_bytes(&self, name: &str, bytes: &[u8]) -> Result<(), SinkError> {
        let digest = Digest::of_bytes(bytes);
        self.replace(
            name,
            &digest,
            |file| file.write_all(bytes).map(|()| digest.clone()),
            || unreachable!("bytes in memory don't change"),
        )
    }

    fn verify(&self, name: &str, expected: &Digest) -> Result<(), SinkError> {
        compare(&self.path(name)?, expected)
    }

    fn read(&self, name: &str) -> Result<Option<Vec<u8>>, SinkError> {
        let path = self.path(name)?;
        match fs::read(&path) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(SinkError::from_io(path.display().to_string(), error)),
        }
    }

    fn get(&self, name: &str, to: &Path) -> Result<Digest, SinkError> {
        let stored = self.path(name)?;
        let mut source = File::open(&stored)
            .map_err(|error| SinkError::from_io(stored.display().to_string(), error))?;
        let partial = partial_of(to);
        let copied = File::create(&partial).and_then(|mut file| {
            let digest = Digest::of_copy(&mut source, &mut file)?;
            file.sync_all()?;
            fs::rename(&partial, to)?;
            Ok(digest)
        });
        copied.map_err(|error| {
            let _ = fs::remove_file(&partial);
            SinkError::from_io(to.display().to_string(), error)
        })
    }

    fn list(&self) -> Result<Vec<Stored>, SinkError> {
        let mut stored = Vec::new();
        match collect(&self.folder, "", &mut stored) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(SinkError::from_io(self.location(), error)),
        }
        stored.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(stored)
    }
}

fn compare(path: &Path, expected: &Digest) -> Result<(), SinkError> {
    let location = path.display().to_string();
    let found = Digest::of_file(path).map_err(|e| SinkError::from_io(location.clone(), e))?;
    if found == *expected {
        return Ok(());
    }
    Err(SinkError::Damaged {
        location,
        expected: expected.sha256.clone(),
        found: found.sha256,
    })
}

/// Asks the kernel to drop its copy, so that reading back reads the disk. Only a wish: some file systems
/// have no disk.
fn forget_cached(file: &File) {
    let _ = posix_fadvise(file, 0, 0, PosixFadviseAdvice::POSIX_FADV_DONTNEED);
}

fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

fn collect(folder: &Path, prefix: &str, stored: &mut Vec<Stored>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with('.') {
            continue;
        }
        let metadata = entry.metadata()?;
        if metadata.is_dir() {
            collect(&entry.path(), &format!("{prefix}{name}/"), stored)?;
        } else {
            stored.push(Stored {
                name: format!("{prefix}{name}"),
                bytes: metadata.len(),
            });
        }
    }
    Ok(())
}

#[cfg(test)]
#[path = "directory_tests.rs"]
mod tests;
