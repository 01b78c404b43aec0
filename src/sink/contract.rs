//! The contract every destination keeps.

use std::io;
use std::path::Path;

use super::Digest;

/// The folder of one run at a destination.
///
/// Calls block; one process at a time writes to a run's folder.
pub(crate) trait Sink: Send + Sync {
    /// Where the run's files lie, for people.
    fn location(&self) -> String;

    /// Stores a file. What was there under the name stays until the new content is complete and its hash proven: read
    /// back, or refused by the destination itself where it isn't what was sent. After any failure the old content is
    /// still there.
    ///
    /// # Errors
    /// [`SinkError::SourceChanged`] when the source isn't what the digest says; what the destination refuses.
    fn put(&self, object: &Object<'_>) -> Result<(), SinkError>;

    /// Stores a few bytes, with the same promise.
    ///
    /// # Errors
    /// What the destination refuses.
    fn put_bytes(&self, name: &str, bytes: &[u8]) -> Result<(), SinkError>;

    /// Reads a stored file back and compares its hash.
    ///
    /// # Errors
    /// [`SinkError::Damaged`] when it is another; [`SinkError::Missing`] when it isn't there.
    fn verify(&self, name: &str, expected: &Digest) -> Result<(), SinkError>;

    /// A small stored file; `None` when there is none of that name.
    ///
    /// # Errors
    /// When the destination can't be read.
    fn read(&self, name: &str) -> Result<Option<Vec<u8>>, SinkError>;

    /// Copies a stored file to `to`, replacing what is there only when complete.
    ///
    /// # Errors
    /// [`SinkError::Missing`] when it isn't there; what either side refuses.
    fn get(&self, name: &str, to: &Path) -> Result<Digest, SinkError>;

    /// The run's complete files, by name.
    ///
    /// # Errors
    /// When the destination can't be read: unknown, not empty.
    fn list(&self) -> Result<Vec<Stored>, SinkError>;
}

/// A file to store.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Object<'a> {
    /// Its name at the destination; `/` separates folders.
    pub(crate) name: &'a str,
    pub(crate) source: &'a Path,
    /// What the source was found to hold.
    pub(crate) digest: &'a Digest,
}

/// One file at a destination.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stored {
    pub(crate) name: String,
    pub(crate) bytes: u64,
}

/// Why a destination didn't do what was asked.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SinkError {
    #[error("{location} is full: {source}")]
    Full { location: String, source: io::Error },
    #[error("{location} may not be written or read: {source}")]
    Denied { location: String, source: io::Error },
    #[error("{location} is not there")]
    Missing { location: String },
    #[error("{path} changed while it was read")]
    SourceChanged { path: String },
    #[error("{location} holds sha256 {found} where {expected} was written")]
    Damaged {
        location: String,
        expected: String,
        found: String,
    },
    #[error("`{text}` is no folder of a bucket")]
    Address { text: String },
    #[error("there is no key for {location}: it goes into {place}")]
    NoKey {
        location: String,
        place: &'static str,
    },
    #[error("`{name}` can't name a file of a destination")]
    Name { name: String },
    #[error("{location}: {source}")]
    Io { location: String, source: io::Error },
}

impl SinkError {
    /// Whether the same may succeed later without anybody changing anything.
    pub(crate) fn is_temporary(&self) -> bool {
        matches!(self, SinkError::Io { .. } | SinkError::Full { .. })
    }

    /// Sorts an I/O error at `location` by its meaning.
    pub(crate) fn from_io(location: impl Into<String>, source: io::Error) -> SinkError {
        let location = location.into();
        match source.kind() {
            io::ErrorKind::StorageFull
            | io::ErrorKind::QuotaExceeded
            | io::ErrorKind::FileTooLarge => SinkError::Full { location, source },
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                SinkError::Denied { location, source }
            }
            io::ErrorKind::NotFound => SinkError::Missing { location },
            _ => SinkError::Io { location, source },
        }
    }
}
