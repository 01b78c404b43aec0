//! A key pair for each run.

use std::fs;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use russh::keys::ssh_key::LineEnding;
use russh::keys::{Algorithm, PrivateKey};
use tempfile::NamedTempFile;

use super::super::command::RemoteError;

/// The folder of one run's key and of the host keys its boxes showed.
#[derive(Clone, Debug)]
pub(crate) struct RunKeys {
    folder: PathBuf,
}

impl RunKeys {
    /// Those of `run` below the state directory. Nothing is made yet.
    pub(crate) fn of(state: &Path, run: &str) -> Self {
        Self {
            folder: state.join("ssh").join(run),
        }
    }

    /// The private key's file, for programs that read it themselves.
    pub(crate) fn private_file(&self) -> PathBuf {
        self.folder.join("id_ed25519")
    }

    pub(crate) fn known_hosts(&self) -> PathBuf {
        self.folder.join("known_hosts")
    }

    /// The public key as a line of `authorized_keys`; makes the pair where there is none.
    ///
    /// # Errors
    /// When it can't be made or read.
    pub(crate) fn public_line(&self) -> Result<String, RemoteError> {
        let key = match self.private()? {
            Some(key) => key,
            None => self.make()?,
        };
        key.public_key().to_openssh().map_err(|error| {
            RemoteError::permanent(
                format!("{}: {error}", self.private_file().display()),
                "it is no key that can be written as a line",
            )
        })
    }

    /// Takes everything away: the run is over, and no box knows the key.
    ///
    /// # Errors
    /// When it can't be removed.
    pub(crate) fn remove(&self) -> io::Result<()> {
        match fs::remove_dir_all(&self.folder) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// `None` when there is none.
    pub(super) fn private(&self) -> Result<Option<PrivateKey>, RemoteError> {
        let path = self.private_file();
        let text = match fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(unusable(&path, &error)),
        };
        let key = PrivateKey::from_openssh(text);
        key.map(Some).map_err(|error| unusable(&path, &error))
    }

    fn make(&self) -> Result<PrivateKey, RemoteError> {
        let path = self.private_file();
        let mut key = PrivateKey::random(&mut russh::keys::key::safe_rng(), Algorithm::Ed25519)
            .map_err(|error| unusable(&path, &error))?;
        key.set_comment("gpurun");
        let text = key
            .to_openssh(LineEnding::LF)
            .map_err(|error| unusable(&path, &error))?;
        self.write_once(&path, text.as_bytes())
            .map_err(|error| unusable(&path, &error))?;
        // Another gpurun may have been first: the key in the file is the run's.
        self.private()?
            .ok_or_else(|| unusable(&path, &"it is gone again"))
    }

    /// A temporary file is readable by its owner alone from the start.
    fn write_once(&self, path: &Path, content: &[u8]) -> io::Result<()> {
        fs::create_dir_all(&self.folder)?;
        let mut file = NamedTempFile::new_in(&self.folder)?;
        file.write_all(content)?;
        file.as_file().sync_all()?;
        match file.persist_noclobber(path) {
            Err(error) if error.error.kind() != ErrorKind::AlreadyExists => Err(error.error),
            _ => Ok(()),
        }
    }
}

fn unusable(path: &Path, error: &dyn std::fmt::Display) -> RemoteError {
    RemoteError::permanent(
        format!("the run's SSH key {}: {error}", path.display()),
        "look at the state directory's space and owner",
    )
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_run_keeps_its_key_and_shares_it_with_nobody() -> Result<(), Box<dyn std::error::Error>> {
        let state = tempfile::tempdir()?;
        let keys = RunKeys::of(state.path(), "3f9a");
        assert!(keys.private()?.is_none());
        let line = keys.public_line()?;
        assert!(
            line.starts_with("ssh-ed25519 ") && line.ends_with(" gpurun"),
            "{line}"
        );
        assert_eq!(keys.public_line()?, line);
        assert_ne!(RunKeys::of(state.path(), "77aa").public_line()?, line);
        let mode = fs::metadata(keys.private_file())?.permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        keys.remove()?;
        keys.remove()?;
        assert!(keys.private()?.is_none());
        fs::create_dir_all(state.path().join("ssh/3f9a"))?;
        fs::write(keys.private_file(), "nonsense")?;
        assert!(
            keys.public_line().is_err(),
            "a key that can't be read is not replaced"
        );
        Ok(())
    }
}
