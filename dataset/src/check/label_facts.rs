//! One label file: read, judged line by line, and forgotten but for the counts.
//!
//! Boxes are in single precision, as LibreYOLO holds them, so that what lies at a bound lies on the same side of it.

use std::io::ErrorKind;
use std::path::Path;

use sha2::{Digest, Sha256};

use super::run::CheckOptions;
use crate::label::{label_text, parse_numbers};
use crate::{LabelIssueKind, file};

/// How far a coordinate may lie outside [0, 1] by rounding alone.
const COORDINATE_TOLERANCE: f64 = 1e-6;
/// How far an edge may lie outside the image before it deserves a word.
const SPILL_TOLERANCE: f32 = 1e-3;
/// The shortest side, in pixels at the training's size, that teaches anything.
pub(super) const TINY_PIXELS: f32 = 3.0;
/// Of the image's area.
const HUGE_AREA: f32 = 0.95;
/// The longer side over the shorter one, in pixels.
pub(super) const EXTREME_ASPECT: f32 = 50.0;
/// Overlap (intersection over union) of two boxes that are one object.
const DUPLICATE_OVERLAP: f32 = 0.95;
/// Every box is compared with every other: not more than so many of one image.
const MOST_COMPARED: usize = 1500;
/// Lines of one file that a message may quote.
const MOST_QUOTED: usize = 3;

/// What is counted of a label file's lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    Syntax,
    Polygon,
    /// A polygon that training drops: half a point, or less than three.
    OddPolygon,
    ClassOutOfRange,
    Outside,
    Spill,
    Degenerate,
    Tiny,
    Huge,
    ExtremeAspect,
    /// Pairs, not lines.
    Duplicate,
}

const FAULTS: usize = Fault::Duplicate as usize + 1;

/// How often a fault is in a file, and the line where it is first; 0 where that is the whole file.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Hits {
    pub(super) count: u32,
    pub(super) first_line: u32,
}

/// What a label file holds.
#[derive(Debug, Default)]
pub(super) struct LabelFacts {
    pub(super) exists: bool,
    pub(super) bytes: u64,
    pub(super) boxes: u32,
    hits: [Hits; FAULTS],
    /// The first malformed lines, and why.
    pub(super) quotes: Vec<(u32, String)>,
    /// Boxes by class id.
    pub(super) classes: Vec<(i64, u32)>,
    /// Well-formed lines by number of fields.
    pub(super) fields: Vec<(usize, u32)>,
    /// Tells equal files from others; none where nothing is in it.
    pub(super) digest: Option<[u8; 16]>,
}

impl LabelFacts {
    pub(super) fn hits(&self, fault: Fault) -> Hits {
        self.hits[fault as usize]
    }

    fn hit(&mut self, fault: Fault, line: u32, is_hit: bool) {
        let hits = &mut self.hits[fault as usize];
        if is_hit {
            if hits.count == 0 {
                hits.first_line = line;
            }
            hits.count += 1;
        }
    }

    fn malformed(&mut self, line: u32, reason: String) {
        self.hit(Fault::Syntax, line, true);
        if self.quotes.len() < MOST_QUOTED {
            self.quotes.push((line, reason));
        }
    }
}

/// Reads the labels of an image of this size, where that is known.
pub(super) fn read_label_facts(
    path: &Path,
    size: Option<(u32, u32)>,
    nc: Option<i64>,
    options: &CheckOptions,
) -> LabelFacts {
    let mut facts = LabelFacts::default();
    let bytes = match file::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::NotFound => return facts,
        Err(error) => {
            facts.exists = true;
            facts.malformed(0, format!("unreadable: {error}"));
            return facts;
        }
    };
    facts.exists = true;
    facts.bytes = bytes.len() as u64;
    if !bytes.trim_ascii().is_empty() {
        let digest = Sha256::digest(&bytes);
        facts.digest = digest.first_chunk().copied();
    }
    let judge = Judge {
        size,
        nc,
        imgsz: options.imgsz as f32,
    };
    let mut inside = Vec::new();
    for (number, text) in (1..).zip(label_text(&bytes).lines()) {
        let numbers = match parse_numbers(text) {
            Ok(Some(numbers)) => numbers,
            Ok(None) => continue,
            Err(LabelIssueKind::Syntax(reason)) => {
                facts.malformed(number, reason);
                continue;
            }
            Err(other) => {
                facts.malformed(number, other.to_string());
                continue;
            }
        };
        add(&mut facts.fields, numbers.values.len() + 1);
        let line = numbers.extent();
        facts.hit(Fault::Polygon, number, line.polygon);
        facts.hit(Fault::OddPolygon, number, !numbers.is_well_formed());
        let box_ = Box32 {
            class: line.class as f32,
            sides: line.box_.map(|value| value as f32),
        };
        add(&mut facts.classes, box_.class as i64);
        facts.boxes += 1;
        judge.judge(&box_, number, &mut facts);
        if box_.is_inside() {
            inside.push((number, box_));
        }
    }
    duplicates(&inside, &mut facts);
    facts
}

fn add<K: PartialEq>(counts: &mut Vec<(K, u32)>, key: K) {
    match counts.iter_mut().find(|(known, _)| *known == key) {
        Some((_, count)) => *count += 1,
        None => counts.push((key, 1)),
    }
}

/// A box as LibreYOLO holds it: class id, then centre and sides.
#[derive(Clone, Copy)]
struct Box32 {
    class: f32,
    sides: [f32; 4],
}

impl Box32 {
    /// Boxes that lie elsewhere are reported once and judged no further.
    fn is_inside(&self) -> bool {
        let (low, high) = (
            -COORDINATE_TOLERANCE as f32,
            (1.0 + COORDINATE_TOLERANCE) as f32,
        );
        self.sides.iter().all(|value| (low..=high).contains(value))
    }

    fn corners(&self) -> [f32; 4] {
        let [cx, cy, w, h] = self.sides;
        [cx - w / 2.0, cy - h / 2.0, cx + w / 2.0, cy + h / 2.0]
    }
}

struct Judge {
    size: Option<(u32, u32)>,
    nc: Option<i64>,
    imgsz: f32,
}

impl Judge {
    fn judge(&self, box_: &Box32, line: u32, facts: &mut LabelFacts) {
        let [_, _, w, h] = box_.sides;
        let is_inside = box_.is_inside();
        let has_area = w > 0.0 && h > 0.0;
        let is_foreign = self
            .nc
            .is_some_and(|nc| box_.class < 0.0 || box_.class >= nc as f32);
        facts.hit(Fault::ClassOutOfRange, line, is_foreign);
        facts.hit(Fault::Outside, line, !is_inside);
        let [x1, y1, x2, y2] = box_.corners();
        let spills = x1 < -SPILL_TOLERANCE
            || y1 < -SPILL_TOLERANCE
            || x2 > 1.0 + SPILL_TOLERANCE
            || y2 > 1.0 + SPILL_TOLERANCE;
        facts.hit(Fault::Spill, line, is_inside && spills);
        facts.hit(Fault::Degenerate, line, w <= 0.0 || h <= 0.0);
        facts.hit(Fault::Huge, line, is_inside && w * h > HUGE_AREA);
        facts.hit(
            Fault::Tiny,
            line,
            is_inside && has_area && self.is_tiny(w, h),
        );
        let is_sliver = is_inside && has_area && self.is_sliver(w, h);
        facts.hit(Fault::ExtremeAspect, line, is_sliver);
    }

    /// The image's longer side becomes the training's size.
    fn is_tiny(&self, w: f32, h: f32) -> bool {
        let (w, h) = match self.size {
            Some((width, height)) => {
                let scale = f64::from(self.imgsz) / f64::from(width.max(height));
                let scale = scale as f32;
                (w * width as f32 * scale, h * height as f32 * scale)
            }
            None => (w * self.imgsz, h * self.imgsz),
        };
        w.min(h) < TINY_PIXELS
    }

    /// Without the image's size the bound is twice as high: images are rarely more than twice as long as high.
    fn is_sliver(&self, w: f32, h: f32) -> bool {
        let (w, h, bound) = match self.size {
            Some((width, height)) => (w * width as f32, h * height as f32, EXTREME_ASPECT),
            None => (w, h, 2.0 * EXTREME_ASPECT),
        };
        w.max(h) / w.min(h) > bound
    }
}

fn duplicates(boxes: &[(u32, Box32)], facts: &mut LabelFacts) {
    let boxes = &boxes[..boxes.len().min(MOST_COMPARED)];
    for (index, (_, first)) in boxes.iter().enumerate() {
        for (line, second) in &boxes[index + 1..] {
            let is_duplicate =
                first.class == second.class && overlap(first, second) > DUPLICATE_OVERLAP;
            facts.hit(Fault::Duplicate, *line, is_duplicate);
        }
    }
}

fn overlap(first: &Box32, second: &Box32) -> f32 {
    let (a, b) = (first.corners(), second.corners());
    let width = (a[2].min(b[2]) - a[0].max(b[0])).max(0.0);
    let height = (a[3].min(b[3]) - a[1].max(b[1])).max(0.0);
    let area = |box_: &Box32| box_.sides[2].max(0.0) * box_.sides[3].max(0.0);
    let intersection = width * height;
    let union = area(first) + area(second) - intersection;
    if union > 0.0 {
        intersection / union
    } else {
        0.0
    }
}
