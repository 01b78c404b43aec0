//! Bits of an entropy-coded segment, from the highest down. Behind the end there are zeros, and an overrun is noticed.

pub(super) struct Bits<'a> {
    data: &'a [u8],
    next: usize,
    /// The next bits, at the top.
    window: u64,
    /// How many of them count.
    count: u32,
}

impl<'a> Bits<'a> {
    pub(super) fn new(data: &'a [u8]) -> Self {
        Self {
            data,
            next: 0,
            window: 0,
            count: 0,
        }
    }

    /// Makes at least 56 bits ready: two codes with their values, which have 27 in baseline files.
    #[inline]
    pub(super) fn refill(&mut self) {
        let word = match self.data.get(self.next..).and_then(<[u8]>::first_chunk) {
            Some(bytes) => u64::from_be_bytes(*bytes),
            None => last_word(self.data, self.next),
        };
        self.window |= word >> self.count;
        self.next += (63 - self.count as usize) >> 3;
        self.count |= 56;
    }

    /// The next `count` bits, of 1 to 32, as a number.
    #[inline]
    pub(super) fn peek(&self, count: u32) -> usize {
        (self.window >> (64 - count)) as usize
    }

    #[inline]
    pub(super) fn skip(&mut self, count: u32) {
        self.window <<= count;
        self.count -= count;
    }

    /// A value of `size` bits, of 0 to 15, whose highest bit is its sign.
    #[inline]
    pub(super) fn signed(&mut self, size: u32) -> i32 {
        if size == 0 {
            return 0;
        }
        let bits = self.peek(size) as i32;
        self.skip(size);
        // Without a branch, which nothing could predict.
        let half = 1 << (size - 1);
        let is_negative = (bits - half) >> 31;
        bits + (is_negative & (1 - 2 * half))
    }

    /// Whether more bits were taken than there are.
    #[inline]
    pub(super) fn is_overrun(&self) -> bool {
        self.next * 8 > self.data.len() * 8 + self.count as usize
    }
}

#[cold]
fn last_word(data: &[u8], from: usize) -> u64 {
    let mut bytes = [0; 8];
    let rest = data.get(from..).unwrap_or(&[]);
    bytes[..rest.len()].copy_from_slice(rest);
    u64::from_be_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_come_from_the_top_and_end_in_zeros() {
        let mut bits = Bits::new(&[0b1010_0000, 0xff, 0x01]);
        bits.refill();
        assert_eq!(bits.peek(3), 0b101);
        bits.skip(3);
        assert_eq!((bits.signed(0), bits.signed(5)), (0, -31));
        assert_eq!(bits.signed(8), 255);
        bits.skip(8);
        assert!(!bits.is_overrun());
        bits.refill();
        assert_eq!(bits.peek(16), 0);
        bits.skip(1);
        assert!(bits.is_overrun());
    }
}
