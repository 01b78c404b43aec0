//! Opening what a data set names: regular files only, since a pipe would be waited for, for ever.

use std::fs::{self, File};
use std::io::{Error, Read, Result};
use std::path::Path;

/// Opens a regular file, through links.
pub(crate) fn open(path: &Path) -> Result<File> {
    if fs::metadata(path)?.is_file() {
        return File::open(path);
    }
    Err(Error::other("it is not a regular file"))
}

/// All of a regular file.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>> {
    let mut file = open(path)?;
    let length = file.metadata()?.len();
    let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or(0));
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// All of a regular file of UTF-8 text.
pub(crate) fn read_text(path: &Path) -> Result<String> {
    let mut text = String::new();
    open(path)?.read_to_string(&mut text)?;
    Ok(text)
}
