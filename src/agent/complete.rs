//! Whether a checkpoint file is whole, told from the file alone.
//!
//! Trainers write `.pt` files in place and from front to back, so a file that was caught half-written, or
//! left so by a killed trainer, has no end.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use serde_json::Value;

/// Whether the format says by itself that a file is whole.
pub(crate) fn proves_itself(name: &str) -> bool {
    [".pt", ".pth", ".safetensors"]
        .iter()
        .any(|suffix| name.ends_with(suffix))
}

/// Whether the file is whole; `None` when its format doesn't say.
pub(crate) fn is_complete(name: &str, path: &Path) -> io::Result<Option<bool>> {
    if !proves_itself(name) {
        return Ok(None);
    }
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    let whole = if name.ends_with(".safetensors") {
        safetensors_is_whole(&mut file, length)
    } else {
        zip_is_whole(&mut file, length)
    };
    match whole {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(Some(false)),
        other => other.map(Some),
    }
}

const END: &[u8] = b"PK\x05\x06";
const END_BYTES: u64 = 22;
const END64: &[u8] = b"PK\x06\x06";
const LOCATOR64: &[u8] = b"PK\x06\x07";
const LOCATOR64_BYTES: u64 = 20;
const CENTRAL: &[u8] = b"PK\x01\x02";
const CENTRAL_BYTES: u64 = 46;
const LOCAL: &[u8] = b"PK\x03\x04";

/// A ZIP archive whose end record stands at the file's very end and whose directory it describes is there,
/// entry by entry, each pointing at an entry of its own (APPNOTE 4.3).
fn zip_is_whole(file: &mut File, length: u64) -> io::Result<bool> {
    // No archive comment: none of the programs that write checkpoints sets one.
    let Some(end_at) = length.checked_sub(END_BYTES) else {
        return Ok(false);
    };
    let end = read_at(file, end_at, END_BYTES)?;
    if !end.starts_with(END) || number(&end[20..22]) != 0 {
        return Ok(false);
    }
    let mut entries = number(&end[10..12]);
    let mut size = number(&end[12..16]);
    let mut offset = number(&end[16..20]);
    let mut directory_end = end_at;
    if entries == 0xffff || size == 0xffff_ffff || offset == 0xffff_ffff {
        let Some(locator_at) = end_at.checked_sub(LOCATOR64_BYTES) else {
            return Ok(false);
        };
        let locator = read_at(file, locator_at, LOCATOR64_BYTES)?;
        directory_end = number(&locator[8..16]);
        if !locator.starts_with(LOCATOR64) || directory_end >= locator_at {
            return Ok(false);
        }
        let end64 = read_at(file, directory_end, 56)?;
        if !end64.starts_with(END64) {
            return Ok(false);
        }
        entries = number(&end64[32..40]);
        size = number(&end64[40..48]);
        offset = number(&end64[48..56]);
    }
    // PyTorch writes the 64-bit records always, and the 32-bit end with true numbers where they fit: then
    // the directory may stop before the 64-bit end record instead.
    let stops = offset
        .checked_add(size)
        .is_some_and(|stop| stop <= directory_end);
    if !stops || size > 1 << 30 {
        return Ok(false);
    }
    let directory = read_at(file, offset, size)?;
    directory_is_whole(file, &directory, entries)
}

fn directory_is_whole(file: &mut File, directory: &[u8], entries: u64) -> io::Result<bool> {
    let mut rest = directory;
    for _ in 0..entries {
        if rest.len() < CENTRAL_BYTES as usize || !rest.starts_with(CENTRAL) {
            return Ok(false);
        }
        let local_at = number(&rest[42..46]);
        if local_at != 0xffff_ffff && read_at(file, local_at, 4)? != LOCAL {
            return Ok(false);
        }
        let names = number(&rest[28..30]) + number(&rest[30..32]) + number(&rest[32..34]);
        let Some(next) = rest.get((CENTRAL_BYTES + names) as usize..) else {
            return Ok(false);
        };
        rest = next;
    }
    Ok(entries > 0 && rest.is_empty())
}

/// A header's length, the header, and tensors up to the largest offset it names.
fn safetensors_is_whole(file: &mut File, length: u64) -> io::Result<bool> {
    let header_bytes = number(&read_at(file, 0, 8)?);
    if header_bytes > length.saturating_sub(8) || header_bytes > 100 << 20 {
        return Ok(false);
    }
    let header = read_at(file, 8, header_bytes)?;
    let Ok(Value::Object(tensors)) = serde_json::from_slice(&header) else {
        return Ok(false);
    };
    let data_bytes = tensors
        .values()
        .filter_map(|tensor| tensor.get("data_offsets")?.get(1)?.as_u64())
        .max()
        .unwrap_or(0);
    Ok(length - 8 - header_bytes == data_bytes)
}

fn read_at(file: &mut File, at: u64, count: u64) -> io::Result<Vec<u8>> {
    file.seek(SeekFrom::Start(at))?;
    let mut bytes = Vec::new();
    if file.take(count).read_to_end(&mut bytes)? as u64 != count {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(bytes)
}

fn number(little_endian: &[u8]) -> u64 {
    little_endian
        .iter()
        .rev()
        .fold(0, |value, byte| value << 8 | u64::from(*byte))
}

#[cfg(test)]
#[path = "complete_tests.rs"]
mod tests;
