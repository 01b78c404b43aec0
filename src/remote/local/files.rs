//! Files that appear whole.

use std::fs;
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use tempfile::NamedTempFile;

/// Replaces a file so that a reader, and a kill, finds the old or the new one.
pub(super) fn replace(
    path: &Path,
    mode: u32,
    write: impl FnOnce(&mut fs::File) -> io::Result<()>,
) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut file = NamedTempFile::new_in(folder)?;
    write(file.as_file_mut())?;
    file.as_file()
        .set_permissions(fs::Permissions::from_mode(mode))?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// Whether `path` is a program with the same bytes as `source`.
pub(super) fn is_same(source: &mut fs::File, path: &Path) -> io::Result<bool> {
    let Ok(mut there) = fs::File::open(path) else {
        return Ok(false);
    };
    if there.metadata()?.len() != source.metadata()?.len()
        || there.metadata()?.permissions().mode() & 0o111 == 0
    {
        return Ok(false);
    }
    let (mut one, mut other) = (vec![0; 256 * 1024], vec![0; 256 * 1024]);
    loop {
        let bytes = source.read(&mut one)?;
        if bytes == 0 {
            return Ok(true);
        }
        if there.read_exact(&mut other[..bytes]).is_err() || one[..bytes] != other[..bytes] {
            return Ok(false);
        }
    }
}

pub(super) fn remove_if_there(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
