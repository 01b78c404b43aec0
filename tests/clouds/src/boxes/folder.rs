//! Files of a box, with errors that name the box.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::SimError;

/// An error of one box: what was being done.
pub(crate) fn failed(id: &str, what: impl Into<String>) -> impl FnOnce(io::Error) -> SimError {
    let (id, what) = (id.to_owned(), what.into());
    move |source| SimError::Box { id, what, source }
}

pub(crate) fn make(id: &str, folder: &Path, mode: u32) -> Result<(), SimError> {
    let made = fs::create_dir_all(folder);
    made.and_then(|()| fs::set_permissions(folder, fs::Permissions::from_mode(mode)))
        .map_err(failed(id, format!("can't make {}", folder.display())))
}

pub(crate) fn write(id: &str, file: &Path, text: &str, mode: u32) -> Result<(), SimError> {
    let written = fs::write(file, text);
    written
        .and_then(|()| fs::set_permissions(file, fs::Permissions::from_mode(mode)))
        .map_err(failed(id, format!("can't write {}", file.display())))
}

/// Removes all of a box; one that is gone is fine.
pub(crate) fn remove(id: &str, place: &Path) -> Result<(), SimError> {
    match fs::remove_dir_all(place) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed(
            id,
            format!("can't remove {}", place.display()),
        )(error)),
        _ => Ok(()),
    }
}

/// A new ed25519 key pair, unless there is one.
pub(crate) fn host_key(id: &str, file: &Path) -> Result<(), SimError> {
    if file.exists() {
        return Ok(());
    }
    let mut keygen = Command::new("ssh-keygen");
    keygen
        .args(["-q", "-t", "ed25519", "-N", "", "-C", "box", "-f"])
        .arg(file);
    run(id, &mut keygen)
}

/// Runs a program to its end.
pub(crate) fn run(id: &str, command: &mut Command) -> Result<(), SimError> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command
        .output()
        .map_err(failed(id, format!("can't start {program}")))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let line: Vec<_> = command
        .get_args()
        .map(|it| it.to_string_lossy().into_owned())
        .collect();
    let what = format!("{program} {} ended with {}", line.join(" "), output.status);
    Err(failed(id, what)(io::Error::other(said.trim().to_owned())))
}

/// Where a login's home is, as the vendor has it.
pub(crate) fn home_of(user: &str) -> PathBuf {
    if user == "root" {
        PathBuf::from("/root")
    } else {
        Path::new("/home").join(user)
    }
}
