//! What can go wrong, and what to do about it.

use std::path::{Path, PathBuf};

#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("unknown option `{name}`; `cargo xtask help` lists them")]
    Option { name: String },
    #[error("`--dir` wants a folder after it")]
    DirWithoutValue,
    #[error("the trainer's libtorch set exists for Linux on x86_64 only")]
    Platform,
    #[error(
        "{} is not empty and was not made by `cargo xtask libtorch`, so it is left alone.\n\
         Name another folder with --dir or LIBTORCH, or remove this one", dir.display()
    )]
    Foreign { dir: PathBuf },
    #[error("`{program}` could not be started ({source}); install {remedy}")]
    Tool {
        program: &'static str,
        remedy: &'static str,
        source: std::io::Error,
    },
    #[error(
        "pip could not find the wheels:\n{output}\n\
         It must be able to reach its package index (its usual settings apply), and be pip 22.2 or newer"
    )]
    Resolve { output: String },
    #[error("pip's answer does not name {requirement}; is its index complete?")]
    Unresolved { requirement: String },
    #[error("pip's report cannot be read: {0}")]
    Report(#[from] serde_json::Error),
    #[error(
        "downloading {requirement} failed ({status}); run the command again, it goes on where it stopped"
    )]
    Download { requirement: String, status: String },
    #[error(
        "{requirement} has sha256 {found} but {expected} was expected, twice.\n\
         The index or a proxy in between serves other bytes; nothing was unpacked from it"
    )]
    Hash {
        requirement: String,
        expected: String,
        found: String,
    },
    #[error("{} has {available} MB free and this needs {needed} MB; free some space or name another disk with --dir", dir.display())]
    Space {
        dir: PathBuf,
        available: u64,
        needed: u64,
    },
    #[error("{} is not a sound wheel: {source}", path.display())]
    Archive {
        path: PathBuf,
        source: zip::result::ZipError,
    },
    #[error("{}: {source}", path.display())]
    Io {
        path: PathBuf,
        source: std::io::Error,
    },
}

/// Adds the path to an I/O error.
pub(crate) trait IoContext<T> {
    fn context(self, path: &Path) -> Result<T, Error>;
}

impl<T> IoContext<T> for std::io::Result<T> {
    fn context(self, path: &Path) -> Result<T, Error> {
        self.map_err(|source| Error::Io {
            path: path.into(),
            source,
        })
    }
}
