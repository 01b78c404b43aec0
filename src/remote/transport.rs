//! The contract that every way into a box keeps.

use std::path::Path;

use async_trait::async_trait;
use tokio::io::AsyncRead;

use super::command::{Command, Output, RemoteError};

/// A way into one box.
#[async_trait]
pub(crate) trait Remote: Send + Sync {
    /// Runs a command to its end. A command that fails is an [`Output`] like any other.
    ///
    /// # Errors
    /// When it couldn't be run, didn't end in time, or the connection was lost; then it may have done anything.
    async fn exec(&self, command: &Command) -> Result<Output, RemoteError>;

    /// As [`Remote::exec`], with a stream for its input; one that isn't read to the end is dropped.
    ///
    /// # Errors
    /// As [`Remote::exec`].
    async fn feed(
        &self,
        command: &Command,
        input: Box<dyn AsyncRead + Send + Unpin>,
    ) -> Result<Output, RemoteError>;

    /// Puts `content` into the file `to`, readable by its owner alone. A reader sees the old file or the new one.
    ///
    /// # Errors
    /// When it couldn't be written; the old file is then as it was.
    async fn put_bytes(&self, content: &[u8], to: &str) -> Result<(), RemoteError>;

    /// Puts a file of this machine at `to`, as [`Remote::put_bytes`] does.
    ///
    /// # Errors
    /// As [`Remote::put_bytes`]; and when the file can't be read.
    async fn put_file(&self, file: &Path, to: &str) -> Result<(), RemoteError>;

    /// Brings a file of the box here, into `to`, which is overwritten. Whether it is whole, its hash tells.
    ///
    /// # Errors
    /// When it can't be read there or written here.
    async fn get_file(&self, from: &str, to: &Path) -> Result<(), RemoteError>;

    /// Puts a program of this machine at `to`, as [`Remote::put_bytes`] does. One that is there already, the same to
    /// the byte, isn't touched.
    ///
    /// # Errors
    /// As [`Remote::put_bytes`].
    async fn put_program(&self, program: &Path, to: &str) -> Result<(), RemoteError>;

    /// Makes the content of a large folder of this machine, which nobody changes, readable at `to`.
    ///
    /// # Errors
    /// When that couldn't be done.
    async fn provide_folder(&self, folder: &Path, to: &str) -> Result<(), RemoteError>;
}
