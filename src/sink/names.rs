//! Names of files at a destination.

use std::path::{Component, Path, PathBuf};

use super::SinkError;

/// A name stays inside the run's folder and isn't hidden: hidden files are partial ones.
pub(super) fn checked(name: &str) -> Result<&Path, SinkError> {
    let path = Path::new(name);
    let plain = path.components().all(|part| match part {
        Component::Normal(part) => !part.to_string_lossy().starts_with('.'),
        _ => false,
    });
    if name.is_empty() || name.contains('\0') || !plain {
        return Err(SinkError::Name {
            name: name.to_owned(),
        });
    }
    Ok(path)
}

/// Where a file is made before it takes its place.
pub(super) fn partial_of(target: &Path) -> PathBuf {
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    target.with_file_name(format!(".{name}.partial"))
}
