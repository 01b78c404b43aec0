//! `labels.*`: every line of every label file.

use std::collections::HashMap;
use std::path::Path;

use serde_json::json;

use super::label_facts::{EXTREME_ASPECT, Fault, TINY_PIXELS};
use super::report::{Finding, Place, Severity};
use super::scan::{Item, Scan, SplitScan};

/// Images of fewer objects than this are never crowded.
const CROWD: f64 = 50.0;
/// Of fewer images nothing is usual.
const FEWEST_FOR_CROWDS: usize = 20;
/// Of so many images' labels that are the same, one wonders.
const MOST_IDENTICAL: usize = 5;

pub(super) fn syntax(scan: &Scan) -> Vec<Finding> {
    scan.lines(Fault::Syntax, |split, count| {
        let quotes = split.items.iter().flat_map(|item| {
            let name = item.sample.label.file_name().unwrap_or_default();
            let name = name.to_string_lossy();
            let quotes = item.labels.quotes.iter();
            quotes.map(move |(line, reason)| format!("{name}:{line}: {reason}"))
        });
        let quotes: Vec<String> = quotes.take(3).collect();
        let message = format!(
            "{count} lines have not the form 'class cx cy w h': {}.",
            quotes.join("; ")
        );
        Finding::new("labels.syntax", Severity::Error, message)
            .remedy("correct or delete the lines; training drops them")
    })
}

pub(super) fn polygon_line(scan: &Scan) -> Vec<Finding> {
    scan.lines(Fault::Polygon, |split, count| {
        let odd: u32 = split
            .items
            .iter()
            .map(|item| item.labels.hits(Fault::OddPolygon).count)
            .sum();
        let dropped = match odd {
            0 => String::new(),
            odd => format!(" Of {odd} of them the numbers are no three points or more: training drops those."),
        };
        let message = format!(
            "{count} lines have more than 5 fields; they are read as polygons, and their extent becomes the box.{dropped}"
        );
        Finding::new("labels.polygon_line", Severity::Info, message)
            .remedy("nothing, if the dataset was made for segmentation")
    })
}

pub(super) fn class_out_of_range(scan: &Scan) -> Vec<Finding> {
    let nc = scan.description.nc.unwrap_or(0);
    scan.lines(Fault::ClassOutOfRange, |_, count| {
        Finding::new(
            "labels.class_out_of_range",
            Severity::Error,
            format!("{count} boxes have a class id outside [0, {nc}); training drops them."),
        )
        .remedy("correct the ids, or name the missing classes in the data.yaml")
    })
}

pub(super) fn coords_out_of_range(scan: &Scan) -> Vec<Finding> {
    let mut findings = scan.lines(Fault::Outside, |_, count| {
        Finding::new(
            "labels.coords_out_of_range",
            Severity::Error,
            format!("{count} boxes have coordinates outside [0, 1]."),
        )
        .remedy("divide x and w by the image's width, y and h by its height: labels are normalised, not in pixels")
    });
    findings.extend(scan.lines(Fault::Spill, |_, count| {
        Finding::new(
            "labels.coords_out_of_range",
            Severity::Warning,
            format!("{count} boxes reach past the edge of their image; training clamps them."),
        )
        .remedy("correct the boxes if that isn't meant")
    }));
    findings
}

pub(super) fn degenerate_box(scan: &Scan) -> Vec<Finding> {
    scan.lines(Fault::Degenerate, |_, count| {
        Finding::new(
            "labels.degenerate_box",
            Severity::Error,
            format!("{count} boxes have no width or no height; training drops them."),
        )
        .remedy("delete the lines, or draw the boxes again")
    })
}

pub(super) fn tiny_object(scan: &Scan) -> Vec<Finding> {
    let imgsz = scan.options.imgsz;
    scan.lines(Fault::Tiny, |split, count| {
        let boxes: usize = split.items.iter().map(|item| item.labels.boxes as usize).sum();
        let share = 100.0 * count as f64 / boxes.max(1) as f64;
        Finding::new(
            "labels.tiny_object",
            Severity::Warning,
            format!("{count} boxes ({share:.1} %) are less than {TINY_PIXELS} pixels wide or high when the image is {imgsz}; they teach next to nothing."),
        )
        .details(json!({ "imgsz": imgsz, "threshold_px": TINY_PIXELS }))
        .remedy("train with a larger imgsz, cut the images into tiles, or delete the boxes")
    })
}

pub(super) fn huge_box(scan: &Scan) -> Vec<Finding> {
    scan.lines(Fault::Huge, |_, count| {
        Finding::new(
            "labels.huge_box",
            Severity::Warning,
            format!("{count} boxes cover more than 95 % of their image."),
        )
        .remedy("draw the boxes around the objects, if they aren't that large")
    })
}

pub(super) fn extreme_aspect(scan: &Scan) -> Vec<Finding> {
    let bound = if scan.images_scanned {
        EXTREME_ASPECT
    } else {
        2.0 * EXTREME_ASPECT
    };
    scan.lines(Fault::ExtremeAspect, |_, count| {
        Finding::new(
            "labels.extreme_aspect",
            Severity::Warning,
            format!("{count} boxes are more than {bound} times as long as thin."),
        )
        .remedy("look at them: such slivers are mostly slips of the hand")
    })
}

pub(super) fn duplicate_box(scan: &Scan) -> Vec<Finding> {
    scan.lines(Fault::Duplicate, |_, count| {
        Finding::new(
            "labels.duplicate_box",
            Severity::Warning,
            format!("{count} pairs of boxes of one class overlap by more than 95 %: one object, labelled twice."),
        )
        .remedy("delete one of each two")
    })
}

impl Scan {
    /// A finding for each split in whose label files the fault is, given how often.
    fn lines(&self, fault: Fault, finding: impl Fn(&SplitScan, usize) -> Finding) -> Vec<Finding> {
        let findings = self.splits.iter().filter_map(|split| {
            let hits = split
                .items
                .iter()
                .map(|item| item.labels.hits(fault).count as usize);
            let count = hits.sum();
            if count == 0 {
                return None;
            }
            let mut places: Vec<Place> = Vec::new();
            for item in &split.items {
                let hits = item.labels.hits(fault);
                let is_new = || places.iter().all(|place| place.path != item.sample.label);
                // Several images may share a label file; only malformed lines are theirs once.
                if hits.count > 0 && places.len() < 20 && (fault != Fault::Syntax || is_new()) {
                    places.push(Place::line(&item.sample.label, hits.first_line));
                }
            }
            Some(
                finding(split, count)
                    .split(split.split)
                    .count(count)
                    .at(places),
            )
        });
        findings.collect()
    }
}

pub(super) fn crowded_image(scan: &Scan) -> Vec<Finding> {
    let of_split = |split: &SplitScan| {
        let mut counts: Vec<u32> = split.items.iter().map(|item| item.labels.boxes).collect();
        counts.sort_unstable();
        let most = f64::from(*counts.last()?);
        if counts.len() < FEWEST_FOR_CROWDS || most < CROWD {
            return None;
        }
        let bound = (3.0 * percentile(&counts, 0.99)).max(CROWD);
        let crowded: Vec<&Item> = split
            .items
            .iter()
            .filter(|item| f64::from(item.labels.boxes) > bound)
            .collect();
        (!crowded.is_empty()).then(|| {
            Finding::new(
                "labels.crowded_image",
                Severity::Info,
                format!(
                    "{} images have far more boxes than the rest, over {bound:.0}.",
                    crowded.len()
                ),
            )
            .split(split.split)
            .count(crowded.len())
            .at(crowded.iter().map(|item| Place::file(&item.sample.image)))
            .remedy("look at them: they may be collages, or labelled twice")
        })
    };
    scan.splits.iter().filter_map(of_split).collect()
}

/// Of sorted values, between the two nearest ones in proportion.
fn percentile(sorted: &[u32], share: f64) -> f64 {
    let position = share * (sorted.len() - 1) as f64;
    let below = position as usize;
    let low = f64::from(sorted[below]);
    let high = f64::from(sorted[(below + 1).min(sorted.len() - 1)]);
    low + (high - low) * position.fract()
}

pub(super) fn identical_files(scan: &Scan) -> Vec<Finding> {
    let of_split = |split: &SplitScan| {
        let mut groups: HashMap<[u8; 16], Vec<&Path>> = HashMap::new();
        let mut order = Vec::new();
        for item in split.items.iter().filter(|item| item.labels.boxes > 0) {
            let Some(digest) = item.labels.digest else {
                continue;
            };
            let group = groups.entry(digest).or_insert_with(|| {
                order.push(digest);
                Vec::new()
            });
            group.push(&item.sample.label);
        }
        let many: Vec<&Vec<&Path>> = order
            .iter()
            .map(|digest| &groups[digest])
            .filter(|files| files.len() >= MOST_IDENTICAL)
            .collect();
        let largest = many.iter().rev().max_by_key(|files| files.len())?;
        let files: usize = many.iter().map(|files| files.len()).sum();
        Some(
            Finding::new(
                "labels.identical_files",
                Severity::Warning,
                format!(
                    "{files} label files are copies of each other, {} of them of one.",
                    largest.len()
                ),
            )
            .split(split.split)
            .count(files)
            .at(largest.iter().map(|path| Place::file(path)))
            .remedy("label the images anew, unless they do show the same"),
        )
    };
    scan.splits.iter().filter_map(of_split).collect()
}
