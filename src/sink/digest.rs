//! Content by its hash.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use sha2::{Digest as _, Sha256};

/// What a file holds: two files with equal digests are equal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Digest {
    /// Lower-case hexadecimal.
    pub(crate) sha256: String,
    pub(crate) bytes: u64,
}

impl Digest {
    pub(crate) fn of_bytes(bytes: &[u8]) -> Digest {
        finish(Sha256::new_with_prefix(bytes), bytes.len() as u64)
    }

    pub(crate) fn of_file(path: &Path) -> io::Result<Digest> {
        Digest::of_copy(&mut File::open(path)?, &mut io::sink())
    }

    /// Copies all of `from` to `to` and says what it was.
    pub(crate) fn of_copy(from: &mut impl Read, to: &mut impl Write) -> io::Result<Digest> {
        let mut hasher = Sha256::new();
        let mut bytes = 0;
        let mut buffer = vec![0; 1 << 18];
        loop {
            let count = match from.read(&mut buffer) {
                Ok(0) => return Ok(finish(hasher, bytes)),
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            hasher.update(&buffer[..count]);
            to.write_all(&buffer[..count])?;
            bytes += count as u64;
        }
    }
}

fn finish(hasher: Sha256, bytes: u64) -> Digest {
    Digest {
        sha256: format!("{:x}", hasher.finalize()),
        bytes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_is_hashed_as_it_passes() {
        let mut copy = Vec::new();
        let digest = Digest::of_copy(&mut b"abc".as_slice(), &mut copy).unwrap();
        assert_eq!(copy, b"abc");
        // FIPS 180-2, appendix B.1.
        let known = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!((digest.sha256.as_str(), digest.bytes), (known, 3));
        assert_eq!(Digest::of_bytes(b"abc"), digest);
    }
}
