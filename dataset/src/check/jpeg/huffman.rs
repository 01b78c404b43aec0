//! Huffman tables, made to step over many symbols at once.

use std::rc::Rc;

use super::bits::Bits;

/// Bits that a table looks at in one step.
const WINDOW: u32 = 13;
const ENTRIES: usize = 1 << WINDOW;
/// A block's coefficients: what covers more ends in another block.
const MOST_COVERED: u32 = 64;
/// Tables kept: encoders use the standard's four, or make four for each image.
const MOST_KEPT: usize = 8;

pub(super) struct Table {
    /// By the next bits: symbol, and the length of its code; length 0 where the code is longer than the window.
    symbols: Vec<(u8, u8)>,
    /// By the next bits: all AC symbols that lie within them as a whole.
    runs: Vec<Run>,
    /// The first code longer than each length, and where the symbols of that length start.
    limits: [(u32, i32); 17],
    values: Vec<u8>,
}

/// Several AC symbols in a row, with their values: how many bits they take, and what they cover.
///
/// The codes lie within the window; the last one's value may reach beyond it, since it isn't looked at.
#[derive(Clone, Copy)]
pub(super) struct Run {
    pub(super) bits: u8,
    /// Coefficients, and [`Run::END`] more where the last symbol is the end of the block.
    pub(super) covers: u8,
}

impl Run {
    /// More than a block has, so that nothing else is the same.
    pub(super) const END: u32 = 128;
    /// Where the first code is longer than the window: more than a block has room for behind its mean, and no end.
    const NONE: Self = Self {
        bits: 0,
        covers: MOST_COVERED as u8,
    };
}

impl Table {
    /// From the counts of codes by length, 1 to 16, and the symbols. None where they are no prefix code.
    fn new(counts: &[u8; 16], values: &[u8]) -> Option<Self> {
        let mut table = Self {
            symbols: vec![(0, 0); ENTRIES],
            runs: vec![Run::NONE; ENTRIES],
            limits: [(0, 0); 17],
            values: values.to_vec(),
        };
        let (mut code, mut index) = (0_u32, 0_usize);
        for (length, count) in (1_u32..).zip(counts) {
            let first = index as i32 - code as i32;
            for _ in 0..*count {
                let symbol = *values.get(index)?;
                if length <= WINDOW {
                    let free = WINDOW - length;
                    let start = (code << free) as usize;
                    table
                        .symbols
                        .get_mut(start..start + (1 << free))?
                        .fill((symbol, length as u8));
                }
                code += 1;
                index += 1;
            }
            if code > 1 << length {
                return None;
            }
            table.limits[length as usize] = (code, first);
            code <<= 1;
        }
        table.find_runs();
        Some(table)
    }

    fn find_runs(&mut self) {
        for (window, run) in self.runs.iter_mut().enumerate() {
            let (mut bits, mut coefficients) = (0, 0);
            while bits < WINDOW {
                let rest = (window << bits) & (ENTRIES - 1);
                let (symbol, length) = self.symbols[rest];
                let (zeros, size) = (u32::from(symbol >> 4), u32::from(symbol & 15));
                if length == 0 || bits + u32::from(length) > WINDOW {
                    break;
                }
                let is_end = size == 0 && zeros != 15;
                bits += u32::from(length) + size;
                coefficients += if is_end { 0 } else { zeros + 1 };
                if coefficients >= MOST_COVERED {
                    break;
                }
                *run = Run {
                    bits: bits as u8,
                    covers: (coefficients + if is_end { Run::END } else { 0 }) as u8,
                };
                if is_end {
                    break;
                }
            }
        }
    }

    /// The next symbol; its value is left to be read. None where there is no such code.
    #[inline]
    pub(super) fn symbol(&self, bits: &mut Bits) -> Option<u8> {
        let (symbol, length) = self.symbols[bits.peek(WINDOW)];
        if length > 0 {
            bits.skip(u32::from(length));
            return Some(symbol);
        }
        let (symbol, length) = self.long_symbol(bits.peek(16))?;
        bits.skip(length);
        Some(symbol)
    }

    /// The symbol that 16 bits begin with, and the length of its code. (Not given the bits themselves: they are in
    /// registers.)
    #[cold]
    fn long_symbol(&self, bits: usize) -> Option<(u8, u32)> {
        for length in WINDOW + 1..=16 {
            let code = (bits >> (16 - length)) as u32;
            let (limit, first) = self.limits[length as usize];
            if code < limit {
                let index = usize::try_from(code as i32 + first).ok()?;
                return Some((*self.values.get(index)?, length));
            }
        }
        None
    }

    #[inline]
    pub(super) fn run(&self, bits: &Bits) -> Run {
        self.runs[bits.peek(WINDOW)]
    }
}

/// The tables made last, by what defines them.
#[derive(Default)]
pub(super) struct Tables {
    kept: Vec<(Vec<u8>, Rc<Table>)>,
}

impl Tables {
    /// The table that these 16 counts and the symbols behind them define, and how many bytes that takes.
    pub(super) fn get(&mut self, definition: &[u8]) -> Option<(Rc<Table>, usize)> {
        let counts: &[u8; 16] = definition.first_chunk()?;
        let length = 16
            + counts
                .iter()
                .map(|count| usize::from(*count))
                .sum::<usize>();
        let definition = definition.get(..length)?;
        if let Some((_, table)) = self.kept.iter().find(|(known, _)| known == definition) {
            return Some((Rc::clone(table), length));
        }
        let table = Rc::new(Table::new(counts, &definition[16..])?);
        if self.kept.len() == MOST_KEPT {
            self.kept.remove(0);
        }
        self.kept.push((definition.to_vec(), Rc::clone(&table)));
        Some((table, length))
    }
}
