//! One reconcile of one run at a time. The kernel holds the lock, so a killed process never leaves one behind.

use std::fmt;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::connection::Ledger;
use super::error::StoreError;

/// The sole right to act on a run, until dropped.
#[must_use]
#[derive(Debug)]
pub(crate) struct RunLock {
    run: String,
    _file: File,
}

/// Why there is no lock.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LockError {
    #[error("another gpurun ({0}) is at work on this run")]
    Held(Holder),
    #[error(transparent)]
    Unusable(#[from] StoreError),
}

/// Who has a lock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Holder {
    /// `None` in the moment between taking the lock and signing it.
    pub(crate) pid: Option<u32>,
}

impl RunLock {
    /// The run it is for.
    pub(crate) fn run(&self) -> &str {
        &self.run
    }
}

impl Ledger {
    /// Takes the lock of `run`, without waiting.
    ///
    /// # Errors
    /// [`LockError::Held`] when somebody has it.
    pub(crate) fn lock(&self, run: &str) -> Result<RunLock, LockError> {
        let folder = self.state().join("locks");
        let path = folder.join(format!("{run}.lock"));
        let failed = |error: io::Error| StoreError::Lock {
            path: path.clone(),
            why: error.to_string(),
        };
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&folder)
            .map_err(failed)?;
        let mut options = OpenOptions::new();
        let options = options
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600);
        let mut file = options.open(&path).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(fs::TryLockError::WouldBlock) => return Err(LockError::Held(holder(&path))),
            Err(fs::TryLockError::Error(error)) => return Err(failed(error).into()),
        }
        // Only for people to read: a full disk must not keep anybody from ending a box.
        if let Err(error) = sign(
            &mut file,
            &Holder {
                pid: Some(std::process::id()),
            },
        ) {
            tracing::debug!(path = %path.display(), %error, "the lock doesn't say who holds it");
        }
        Ok(RunLock {
            run: run.to_owned(),
            _file: file,
        })
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.pid {
            Some(pid) => write!(f, "process {pid}"),
            None => f.write_str("just started"),
        }
    }
}

fn sign(file: &mut File, holder: &Holder) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    file.write_all(serde_json::to_string(holder)?.as_bytes())
}

fn holder(path: &Path) -> Holder {
    let text = fs::read_to_string(path).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or(Holder { pid: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    type Outcome = Result<(), Box<dyn std::error::Error>>;

    #[test]
    fn one_holder_at_a_time_and_it_is_named() -> Outcome {
        let folder = tempfile::tempdir()?;
        let (one, other) = (Ledger::open(folder.path())?, Ledger::open(folder.path())?);
        let lock = one.lock("k3v9x2mq7d")?;
        assert_eq!(lock.run(), "k3v9x2mq7d");
        let refused = other.lock("k3v9x2mq7d").err().ok_or("two hold one lock")?;
        assert!(
            refused
                .to_string()
                .contains(&format!("process {}", std::process::id())),
            "{refused}"
        );
        let _another_run = other.lock("w3v9x2mq7d")?;
        drop(lock);
        let _again = other.lock("k3v9x2mq7d")?;
        Ok(())
    }
}
