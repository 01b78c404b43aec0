//! What can be wrong with a checkpoint.

use std::io;
use std::path::{Path, PathBuf};

/// A checkpoint that could not be read or written.
#[derive(Debug, thiserror::Error)]
#[error("{}: {problem}", path.display())]
pub struct CheckpointError {
    pub path: PathBuf,
    #[source]
    pub problem: Problem,
}

/// The reason, without the file's name.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error(
        "the pickle uses `{0}`, which no plain checkpoint needs, and a checkpoint never runs code here; \
         load it with the program that made it and save its state_dict"
    )]
    Global(String),
    #[error("not a PyTorch checkpoint: {0}")]
    Foreign(String),
    #[error("damaged checkpoint: {0}")]
    Damaged(String),
    #[error("the checkpoint exceeds this reader's limit of {limit} {what}")]
    TooLarge { what: &'static str, limit: u64 },
    #[error("{0}")]
    Schema(String),
    #[error("libtorch: {0}")]
    Torch(#[from] tch::TchError),
}

impl Problem {
    pub(super) fn damaged(what: impl Into<String>) -> Self {
        Problem::Damaged(what.into())
    }

    /// Names the file.
    pub fn at(self, path: &Path) -> CheckpointError {
        CheckpointError {
            path: path.to_owned(),
            problem: self,
        }
    }

    /// Whether the disk is full.
    pub fn is_disk_full(&self) -> bool {
        matches!(self, Problem::Io(e) if matches!(e.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded))
    }
}
