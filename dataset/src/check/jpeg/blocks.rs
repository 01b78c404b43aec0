//! From the bytes of a file to the brightness of its blocks.

use super::bits::Bits;
use super::header::{Header, ScanHeader};
use super::huffman::{Run, Table, Tables};
use super::segments::Segments;

/// Coefficients of a block.
const COEFFICIENTS: u32 = 64;
/// A header may promise more than there is memory for.
const MOST_BLOCKS: usize = 1 << 21;

/// What a whole file says of its image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::check) struct Survey {
    pub(in crate::check) width: usize,
    pub(in crate::check) height: usize,
    /// 1 or 3.
    pub(in crate::check) components: usize,
    /// As EXIF counts, 1 to 8; 0 where nothing is said.
    pub(in crate::check) orientation: u8,
    /// Blocks in a row of [`Surveyor`]'s, some of which may lie beyond the image.
    pub(in crate::check) stride: usize,
}

/// The brightness of the blocks of the image read last, row by row, and memory for the next.
#[derive(Default)]
pub(in crate::check) struct Surveyor {
    /// Each block's mean, of 0 to 255.
    pub(in crate::check) means: Vec<f32>,
    /// The coefficient of half a cosine wave across the block.
    pub(in crate::check) across: Vec<f32>,
    /// The coefficient of half a cosine wave down the block.
    pub(in crate::check) down: Vec<f32>,
    tables: Tables,
    segments: Segments,
}

impl Surveyor {
    /// Reads a file's bytes. None where it isn't a plain JPEG, or seems damaged.
    pub(in crate::check) fn survey(&mut self, file: &[u8]) -> Option<Survey> {
        let mut header = Header::default();
        let mut at = 2;
        if !file.starts_with(&[0xff, 0xd8]) {
            return None;
        }
        loop {
            let (marker, content) = next_marker(file, &mut at)?;
            match marker {
                0xd9 => return finished(&header),
                0xda => {
                    let scan = header.scan(content)?;
                    let behind = at - content.len() + scan.length;
                    at = behind + self.segments.read(file.get(behind..)?)?;
                    self.read_scan(&mut header, &scan)?;
                }
                other => header.take(other, content, &mut self.tables)?,
            }
        }
    }

    fn read_scan(&mut self, header: &mut Header, scan: &ScanHeader) -> Option<()> {
        let frame = header.frame.as_ref()?;
        let largest = frame.components.first()?.sampling;
        let units = |size: usize, sampling: usize| size.div_ceil(8 * sampling);
        let (mut units_across, mut units_down) = (
            units(frame.width, largest.0),
            units(frame.height, largest.1),
        );
        let stride = units_across * largest.0;
        if stride * units_down * largest.1 > MOST_BLOCKS {
            return None;
        }
        let mut parts = Vec::with_capacity(scan.components.len());
        for &(index, dc, ac) in &scan.components {
            let component = &frame.components[index];
            if component.is_read {
                return None;
            }
            parts.push(Part {
                sampling: component.sampling,
                is_bright: index == 0,
                steps: (*header.steps.get(component.quantisation)?)?.map(f32::from),
                dc: header.dc.get(dc)?.as_deref()?,
                ac: header.ac.get(ac)?.as_deref()?,
                mean: 0,
            });
        }
        if let [part] = &mut parts[..] {
            // Alone, a component comes block by block, and only those that are needed.
            let size = |size: usize, sampling: usize, largest: usize| {
                (size * sampling).div_ceil(largest).div_ceil(8)
            };
            units_across = size(frame.width, part.sampling.0, largest.0);
            units_down = size(frame.height, part.sampling.1, largest.1);
            part.sampling = (1, 1);
        }
        if parts.iter().any(|part| part.is_bright) {
            let blocks = stride * frame.height.div_ceil(8 * largest.1) * largest.1;
            for plane in [&mut self.means, &mut self.across, &mut self.down] {
                plane.clear();
                plane.resize(blocks, 0.0);
            }
        }
        let count = units_across * units_down;
        let interval = match header.restart_interval {
            0 => count,
            interval => interval,
        };
        if self.segments.count() != count.div_ceil(interval) {
            return None;
        }
        for index in 0..self.segments.count() {
            let mut bits = Bits::new(self.segments.get(index)?);
            for part in &mut parts {
                part.mean = 0;
            }
            for unit in index * interval..count.min((index + 1) * interval) {
                let (row, column) = (unit / units_across, unit % units_across);
                for part in &mut parts {
                    for block in 0..part.sampling.0 * part.sampling.1 {
                        if !part.is_bright {
                            part.pass(&mut bits)?;
                            continue;
                        }
                        let (right, below) = (block % part.sampling.0, block / part.sampling.0);
                        let at = (row * part.sampling.1 + below) * stride
                            + column * part.sampling.0
                            + right;
                        let [mean, across, down] = part.read(&mut bits)?;
                        *self.means.get_mut(at)? = mean;
                        *self.across.get_mut(at)? = across;
                        *self.down.get_mut(at)? = down;
                    }
                }
                if bits.is_overrun() {
                    return None;
                }
            }
        }
        let frame = header.frame.as_mut()?;
        for &(index, ..) in &scan.components {
            frame.components[index].is_read = true;
        }
        Some(())
    }
}

/// One component of a scan.
struct Part<'a> {
    sampling: (usize, usize),
    is_bright: bool,
    steps: [f32; 3],
    dc: &'a Table,
    ac: &'a Table,
    /// The block before: the mean is coded as a difference.
    mean: i32,
}

impl Part<'_> {
    /// The next block's mean and slopes.
    #[inline]
    fn read(&mut self, bits: &mut Bits) -> Option<[f32; 3]> {
        bits.refill();
        let size = u32::from(self.dc.symbol(bits)?);
        if size > 11 {
            return None;
        }
        self.mean += bits.signed(size);
        let mean = self.mean as f32 * self.steps[0] / 8.0 + 128.0;
        let mut slopes = [0.0; 2];
        let mut next = 1;
        let mut is_flat = true;
        while next <= 2 {
            bits.refill();
            let symbol = self.ac.symbol(bits)?;
            let (zeros, size) = (u32::from(symbol >> 4), u32::from(symbol & 15));
            if size == 0 && zeros != 15 {
                let mean = if is_flat { (mean + 0.5).floor() } else { mean };
                return Some([mean.clamp(0.0, 255.0), slopes[0], slopes[1]]);
            }
            is_flat = false;
            next += zeros;
            let value = bits.signed(size) as f32;
            if let 1 | 2 = next {
                slopes[next as usize - 1] = value * self.steps[next as usize];
            }
            next += 1;
        }
        step_over(self.ac, bits, next)?;
        Some([mean.clamp(0.0, 255.0), slopes[0], slopes[1]])
    }

    /// Steps over the next block.
    #[inline]
    fn pass(&mut self, bits: &mut Bits) -> Option<()> {
        bits.refill();
        let size = u32::from(self.dc.symbol(bits)?);
        if size > 11 {
            return None;
        }
        bits.skip(size);
        step_over(self.ac, bits, 1)
    }
}

/// Steps over a block's coefficients from `next` on.
#[inline]
fn step_over(table: &Table, bits: &mut Bits, mut next: u32) -> Option<()> {
    while next < COEFFICIENTS {
        bits.refill();
        // Bits are ready for two steps.
        for _ in 0..2 {
            let run = table.run(bits);
            let behind = next + u32::from(run.covers);
            if behind < COEFFICIENTS {
                bits.skip(u32::from(run.bits));
                next = behind;
                continue;
            }
            // What lies behind the last coefficient belongs to the next block, also what looks like this one's end.
            let is_end =
                behind == COEFFICIENTS || (Run::END..Run::END + COEFFICIENTS).contains(&behind);
            if is_end {
                bits.skip(u32::from(run.bits));
                return Some(());
            }
            bits.refill();
            let symbol = table.symbol(bits)?;
            let (zeros, size) = (u32::from(symbol >> 4), u32::from(symbol & 15));
            if size == 0 && zeros != 15 {
                return Some(());
            }
            bits.skip(size);
            next += zeros + 1;
            break;
        }
    }
    (next == COEFFICIENTS).then_some(())
}

/// The next marker and its content; `at` is then behind both.
fn next_marker<'a>(file: &'a [u8], at: &mut usize) -> Option<(u8, &'a [u8])> {
    if *file.get(*at)? != 0xff {
        return None;
    }
    // There may be fill bytes.
    while *file.get(*at)? == 0xff {
        *at += 1;
    }
    let marker = file[*at];
    *at += 1;
    if marker == 0xd9 {
        return Some((marker, &[]));
    }
    let length = file.get(*at..)?.first_chunk::<2>()?;
    let length = usize::from(u16::from_be_bytes(*length));
    let content = file.get(*at + 2..*at + length)?;
    *at += length;
    Some((marker, content))
}

fn finished(header: &Header) -> Option<Survey> {
    let frame = header.frame.as_ref()?;
    let across = frame.components.first()?.sampling.0;
    let is_whole = frame.components.iter().all(|component| component.is_read);
    is_whole.then(|| Survey {
        width: frame.width,
        height: frame.height,
        components: frame.components.len(),
        orientation: header.orientation,
        stride: frame.width.div_ceil(8 * across) * across,
    })
}
