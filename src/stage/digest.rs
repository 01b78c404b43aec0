//! SHA-256 of what passes by.

use sha2::{Digest, Sha256};
use std::{
    fs::File,
    io::{self, Read, Write},
    path::Path,
};

const BUFFER: usize = 1 << 20;

/// A hash as lower-case hexadecimal digits.
pub(super) fn hexadecimal(hash: Sha256) -> String {
    hash.finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// Copies `from` to `to` and returns the number of bytes and their hash.
pub(super) fn copy_hashed(from: &mut impl Read, to: &mut impl Write) -> io::Result<(u64, String)> {
    let mut hash = Sha256::new();
    let mut buffer = vec![0; BUFFER];
    let mut total = 0;
    loop {
        let read = match from.read(&mut buffer) {
            Ok(0) => return Ok((total, hexadecimal(hash))),
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        let bytes = &buffer[..read];
        hash.update(bytes);
        to.write_all(bytes)?;
        total += read as u64;
    }
}

/// The hash of a file's content.
pub(super) fn of_file(path: &Path) -> io::Result<String> {
    copy_hashed(&mut File::open(path)?, &mut io::sink()).map(|(_, hash)| hash)
}

/// A reader that hashes what is read through it.
pub(super) struct HashingReader<R> {
    inner: R,
    hash: Sha256,
}

impl<R: Read> HashingReader<R> {
    pub(super) fn new(inner: R) -> Self {
        Self {
            inner,
            hash: Sha256::new(),
        }
    }

    /// Reads the rest and returns the hash of everything.
    pub(super) fn finish(mut self) -> io::Result<String> {
        io::copy(&mut self, &mut io::sink())?;
        Ok(hexadecimal(self.hash))
    }
}

impl<R: Read> Read for HashingReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.hash.update(&buffer[..read]);
        Ok(read)
    }
}
