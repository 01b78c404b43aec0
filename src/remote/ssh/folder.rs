//! What is brought to a box from here: hashed, so that what is there already stays.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use tokio::task::spawn_blocking;

use super::super::command::RemoteError;
use super::unreadable;

pub(super) const MODE_PROGRAM: &str = "755";
pub(super) const MODE_FILE: &str = "644";

/// One file of a folder.
#[derive(Debug)]
pub(super) struct Listed {
    pub(super) path: PathBuf,
    /// Relative to the folder.
    pub(super) name: String,
    pub(super) bytes: u64,
    pub(super) executable: bool,
    sha256: String,
}

impl Listed {
    /// As `sha256sum` reads it.
    pub(super) fn sum_line(&self) -> String {
        format!("{}  {}\n", self.sha256, self.name)
    }

    /// What `sha256sum -c` says of a file that agrees.
    pub(super) fn ok_line(&self) -> String {
        format!("{}: OK", self.name)
    }
}

/// The SHA-256 of a file, in hexadecimal.
pub(super) async fn digest(file: PathBuf) -> Result<String, RemoteError> {
    let path = file.clone();
    blocking(path, move || sha256(&file)).await
}

/// Every file below `folder`, links followed.
pub(super) async fn list(folder: PathBuf) -> Result<Vec<Listed>, RemoteError> {
    let path = folder.clone();
    blocking(path, move || {
        let mut files = Vec::new();
        walk(&folder, "", &mut files)?;
        files.sort_by(|left, right| left.name.cmp(&right.name));
        Ok(files)
    })
    .await
}

async fn blocking<T: Send + 'static>(
    path: PathBuf,
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> Result<T, RemoteError> {
    let result = spawn_blocking(work).await;
    let result = result.unwrap_or_else(|panic| Err(io::Error::other(panic)));
    result.map_err(|error| unreadable(&path, &error))
}

fn walk(folder: &Path, prefix: &str, files: &mut Vec<Listed>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let name = format!("{prefix}{name}");
        let metadata = fs::metadata(&path)?;
        if metadata.is_dir() {
            walk(&path, &format!("{name}/"), files)?;
            continue;
        }
        files.push(Listed {
            bytes: metadata.len(),
            executable: metadata.permissions().mode() & 0o111 != 0,
            sha256: sha256(&path)?,
            name,
            path,
        });
    }
    Ok(())
}

fn sha256(file: &Path) -> io::Result<String> {
    let mut hasher = Sha256::new();
    io::copy(&mut fs::File::open(file)?, &mut hasher)?;
    Ok(format!("{:x}", hasher.finalize()))
}
