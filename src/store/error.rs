//! What can be wrong with the ledger, or with what was asked of it.

use std::fmt;
use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;

/// A ledger that can't be read or written, or a question it has no answer to.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StoreError {
    #[error("the ledger {} is damaged or is no ledger: {why}", path.display())]
    Damaged { path: PathBuf, why: String },
    #[error("the ledger {} is of a newer gpurun: it has version {found}, and this one knows {known}", path.display())]
    Newer {
        path: PathBuf,
        found: i64,
        known: i64,
    },
    #[error("the ledger {} stayed locked by another gpurun for {seconds} s", path.display())]
    Busy { path: PathBuf, seconds: u64 },
    #[error("the ledger {} can't be used: {why}", path.display())]
    Unusable { path: PathBuf, why: String },
    #[error("there is no run `{asked}`{}", nearest.as_ref().map(|name| format!("; did you mean `{name}`?")).unwrap_or_default())]
    UnknownRun {
        asked: String,
        nearest: Option<String>,
    },
    #[error("`{asked}` may be any of {}", list(candidates))]
    Ambiguous {
        asked: String,
        candidates: Vec<Candidate>,
    },
    #[error("the name `{name}` is in use by run {id}, which is not over")]
    NameInUse { name: String, id: String },
    #[error("run {id} can't be read: {why}")]
    UnreadableRun { id: String, why: String },
    #[error("the lock {} can't be used: {why}", path.display())]
    Lock { path: PathBuf, why: String },
}

/// A run that a question may have meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Candidate {
    pub(crate) id: String,
    pub(crate) name: String,
}

impl StoreError {
    /// One thing a person can do about it.
    pub(crate) fn remedy(&self) -> String {
        match self {
            Self::Damaged { .. } => {
                "Nothing was written. Move the file away or restore a copy; boxes that still run are found by `gpurun orphans`.".to_owned()
            }
            Self::Newer { .. } => "Use the gpurun that wrote it, or update this one.".to_owned(),
            Self::Busy { .. } => "Try again; if it stays, look for a gpurun process that hangs.".to_owned(),
            Self::Unusable { path, .. } => {
                format!("Check that {} is a folder of yours with free space.", path.parent().unwrap_or(path).display())
            }
            Self::UnknownRun { .. } => "List the runs: gpurun status --all.".to_owned(),
            Self::Ambiguous { .. } => "Give more letters of the id.".to_owned(),
            Self::NameInUse { name, .. } => format!("Choose another name, or end that run first: gpurun destroy {name}."),
            Self::UnreadableRun { id, .. } => format!("The other runs are not affected; its box carries the label gpurun-{id}."),
            Self::Lock { path, .. } => format!("Make {} writable for this user.", path.display()),
        }
    }

    /// What SQLite says, in our words.
    pub(super) fn from_sqlite(path: &Path, error: &rusqlite::Error) -> Self {
        let (path, why) = (path.to_owned(), error.to_string());
        match error.sqlite_error_code() {
            Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => {
                Self::Damaged { path, why }
            }
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Busy {
                path,
                seconds: super::connection::BUSY_TIMEOUT.as_secs(),
            },
            _ => Self::Unusable { path, why },
        }
    }
}

impl fmt::Display for Candidate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.id, self.name)
    }
}

fn list(candidates: &[Candidate]) -> String {
    candidates
        .iter()
        .map(Candidate::to_string)
        .collect::<Vec<_>>()
        .join(", ")
}
