//! The markers between which a JPEG's data lies.

use std::rc::Rc;

use image::metadata::Orientation;

use super::huffman::{Table, Tables};

/// What the markers so far say.
#[derive(Default)]
pub(super) struct Header {
    pub(super) frame: Option<Frame>,
    pub(super) orientation: u8,
    /// The first three steps of each quantisation table: the mean's and the two slopes'.
    pub(super) steps: [Option<[u16; 3]>; 4],
    pub(super) dc: [Option<Rc<Table>>; 4],
    pub(super) ac: [Option<Rc<Table>>; 4],
    pub(super) restart_interval: usize,
    adobe_transform: Option<u8>,
}

pub(super) struct Frame {
    pub(super) width: usize,
    pub(super) height: usize,
    pub(super) components: Vec<Component>,
}

pub(super) struct Component {
    id: u8,
    /// Blocks of it in a unit, across and down.
    pub(super) sampling: (usize, usize),
    pub(super) quantisation: usize,
    pub(super) is_read: bool,
}

/// What a scan holds: components by index, each with its tables' numbers.
pub(super) struct ScanHeader {
    pub(super) components: Vec<(usize, usize, usize)>,
    /// The header's bytes.
    pub(super) length: usize,
}

const SOF_BASELINE: u8 = 0xc0;
const SOF_EXTENDED: u8 = 0xc1;
const DHT: u8 = 0xc4;
const DQT: u8 = 0xdb;
const DRI: u8 = 0xdd;
const APP1: u8 = 0xe1;
const APP14: u8 = 0xee;

impl Header {
    /// Takes in a marker segment's content. None where it makes the file none of the plain ones.
    pub(super) fn take(&mut self, marker: u8, content: &[u8], tables: &mut Tables) -> Option<()> {
        match marker {
            SOF_BASELINE | SOF_EXTENDED => self.take_frame(content)?,
            DHT => self.take_tables(content, tables)?,
            DQT => self.take_steps(content)?,
            DRI => self.restart_interval = word(content, 0)?,
            APP1 if self.orientation == 0 => {
                if let Some(exif) = content.strip_prefix(b"Exif\0\0") {
                    self.orientation =
                        Orientation::from_exif_chunk(exif).map_or(0, Orientation::to_exif);
                }
            }
            APP14 if content.starts_with(b"Adobe") => {
                self.adobe_transform = content.get(11).copied();
            }
            // Other application data, and comments.
            0xe0..=0xef | 0xfe => {}
            _ => return None,
        }
        Some(())
    }

    fn take_frame(&mut self, content: &[u8]) -> Option<()> {
        let (&[bits], count) = (content.first_chunk()?, usize::from(*content.get(5)?));
        let frame = Frame {
            height: word(content, 1)?,
            width: word(content, 3)?,
            components: content
                .get(6..6 + 3 * count)?
                .chunks_exact(3)
                .map(|part| Component {
                    id: part[0],
                    sampling: (usize::from(part[1] >> 4), usize::from(part[1] & 15)),
                    quantisation: usize::from(part[2] & 3),
                    is_read: false,
                })
                .collect(),
        };
        let is_plain = self.frame.is_none()
            && bits == 8
            && frame.width > 0
            && frame.height > 0
            && frame.has_plain_components();
        self.frame = is_plain.then_some(frame);
        self.frame.as_ref().map(|_| ())
    }

    fn take_tables(&mut self, mut content: &[u8], tables: &mut Tables) -> Option<()> {
        while let Some((&which, rest)) = content.split_first() {
            let (table, length) = tables.get(rest)?;
            let kind = if which >> 4 == 0 {
                &mut self.dc
            } else {
                &mut self.ac
            };
            *kind.get_mut(usize::from(which & 15))? = Some(table);
            content = &rest[length..];
        }
        Some(())
    }

    fn take_steps(&mut self, mut content: &[u8]) -> Option<()> {
        while let Some((&which, rest)) = content.split_first() {
            let size = if which >> 4 == 0 { 1 } else { 2 };
            let values = rest.get(..64 * size)?;
            let step = |index: usize| match size {
                1 => u16::from(values[index]),
                _ => u16::from_be_bytes([values[2 * index], values[2 * index + 1]]),
            };
            *self.steps.get_mut(usize::from(which & 15))? = Some([step(0), step(1), step(2)]);
            content = &rest[64 * size..];
        }
        Some(())
    }

    /// Reads a scan's header. None where it is of another mode, or before the frame.
    pub(super) fn scan(&self, content: &[u8]) -> Option<ScanHeader> {
        let frame = self.frame.as_ref()?;
        let is_rgb = self.adobe_transform == Some(0)
            || frame.components.iter().map(|part| part.id).eq(*b"RGB");
        if frame.components.len() == 3 && is_rgb {
            return None;
        }
        let count = usize::from(*content.first()?);
        let components = content.get(1..1 + 2 * count)?.chunks_exact(2).map(|part| {
            let index = frame
                .components
                .iter()
                .position(|known| known.id == part[0])?;
            Some((index, usize::from(part[1] >> 4), usize::from(part[1] & 15)))
        });
        let components: Option<Vec<_>> = components.collect();
        let is_sequential = content.get(1 + 2 * count..)? == [0, 63, 0];
        Some(ScanHeader {
            components: components?,
            length: content.len(),
        })
        .filter(|scan| is_sequential && !scan.components.is_empty())
    }
}

impl Frame {
    /// Grey, or brightness with two colour components that have no more pixels than it.
    fn has_plain_components(&self) -> bool {
        let sampling = |index: usize| self.components[index].sampling;
        let is_valid = |(across, down)| (1..=4).contains(&across) && (1..=4).contains(&down);
        match self.components.len() {
            1 => is_valid(sampling(0)),
            3 => {
                (0..3).all(|index| is_valid(sampling(index)))
                    && (1..3).all(|index| {
                        sampling(index).0 <= sampling(0).0 && sampling(index).1 <= sampling(0).1
                    })
            }
            _ => false,
        }
    }
}

fn word(content: &[u8], at: usize) -> Option<usize> {
    let bytes = content.get(at..)?.first_chunk::<2>()?;
    Some(usize::from(u16::from_be_bytes(*bytes)))
}
