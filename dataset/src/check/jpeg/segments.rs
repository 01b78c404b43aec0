//! The entropy-coded bytes of a scan, without what keeps them from looking like markers.

use std::ops::Range;

/// The bytes of one scan, and where its restart intervals lie in them.
#[derive(Default)]
pub(super) struct Segments {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Segments {
    /// Reads from behind a scan's header to the next marker that is no restart; returns where that is.
    pub(super) fn read(&mut self, data: &[u8]) -> Option<usize> {
        self.bytes.clear();
        self.ends.clear();
        let mut start = 0;
        loop {
            let found = start + memchr::memchr(0xff, data.get(start..)?)?;
            self.bytes.extend_from_slice(&data[start..found]);
            match *data.get(found + 1)? {
                0x00 => self.bytes.push(0xff),
                0xd0..=0xd7 => self.ends.push(self.bytes.len()),
                // A fill byte: the marker comes behind it.
                0xff => {
                    start = found + 1;
                    continue;
                }
                _ => {
                    self.ends.push(self.bytes.len());
                    return Some(found);
                }
            }
            start = found + 2;
        }
    }

    pub(super) fn count(&self) -> usize {
        self.ends.len()
    }

    pub(super) fn get(&self, index: usize) -> Option<&[u8]> {
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        let range: Range<usize> = start..*self.ends.get(index)?;
        self.bytes.get(range)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stuffed_bytes_go_and_restarts_divide() {
        let mut segments = Segments::default();
        let data = [1, 0xff, 0x00, 2, 0xff, 0xd0, 3, 0xff, 0xff, 0xd9, 9];
        assert_eq!(segments.read(&data), Some(8));
        assert_eq!(segments.count(), 2);
        assert_eq!(segments.get(0), Some(&[1, 0xff, 2][..]));
        assert_eq!(segments.get(1), Some(&[3][..]));
        assert_eq!(segments.get(2), None);
        assert_eq!(segments.read(&[1, 2, 3]), None, "no end");
    }
}
