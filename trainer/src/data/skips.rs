//! What couldn't be used: counted always, named once.

use std::collections::HashSet;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// An image or a label line that is left out of the training.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Skip {
    /// The file.
    pub path: PathBuf,
    /// 1-based, for a label line.
    pub line: Option<usize>,
    /// Why.
    pub reason: String,
}

impl fmt::Display for Skip {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        match self.line {
            Some(line) => write!(formatter, "{}:{line}: {}", self.path.display(), self.reason),
            // An image's reason names the file itself.
            None => formatter.write_str(&self.reason),
        }
    }
}

/// Shared by the threads that find them.
#[derive(Debug, Default)]
pub(super) struct Skips(Mutex<Found>);

#[derive(Debug, Default)]
struct Found {
    seen: HashSet<(PathBuf, Option<usize>)>,
    unread: Vec<Skip>,
}

impl Skips {
    /// Notes one, unless the same file and line were noted before.
    pub(super) fn add(&self, path: &Path, line: Option<usize>, reason: String) {
        let mut found = self.lock();
        if found.seen.insert((path.to_path_buf(), line)) {
            found.unread.push(Skip {
                path: path.to_path_buf(),
                line,
                reason,
            });
        }
    }

    /// Those noted since the last call.
    pub(super) fn take(&self) -> Vec<Skip> {
        std::mem::take(&mut self.lock().unread)
    }

    /// All noted so far.
    pub(super) fn count(&self) -> usize {
        self.lock().seen.len()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Found> {
        // A thread that panicked while holding the lock left the list whole.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
