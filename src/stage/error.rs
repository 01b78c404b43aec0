//! What can go wrong with a data set on its way.

use miette::Diagnostic;
use std::{io, path::Path};

/// A data set that can't be packed or put on a box: what, where, why, and one thing to do.
#[derive(Debug, thiserror::Error, Diagnostic)]
#[error("{message}")]
pub(crate) struct StageError {
    pub(crate) message: String,
    #[help]
    pub(crate) help: String,
    /// Trying again can help without anybody changing anything.
    pub(crate) temporary: bool,
}

pub(crate) type Result<T, E = StageError> = std::result::Result<T, E>;

impl StageError {
    pub(crate) fn new(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            help: help.into(),
            temporary: false,
        }
    }

    /// For `map_err`: what was tried with which file.
    pub(crate) fn io(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let shown = path.display().to_string();
        move |error| {
            let help = match error.kind() {
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                    "make room there, or rent a larger disk: --disk GB"
                }
                io::ErrorKind::PermissionDenied => "check who may read and write there",
                io::ErrorKind::NotFound => {
                    "it was there a moment ago: don't change the data set meanwhile"
                }
                _ => "check the disk, then try again",
            };
            Self {
                message: format!("{shown}: {doing}: {error}"),
                help: help.to_owned(),
                temporary: error.kind() == io::ErrorKind::Interrupted,
            }
        }
    }
}
