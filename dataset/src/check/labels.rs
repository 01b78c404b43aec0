//! `labels.*`: every line of every label file.

use super::report::{Finding, Place, Severity};
use super::scan::{Scan, SplitScan};
use crate::LabelLine;

/// How far a coordinate may lie outside [0, 1] by rounding alone.
const COORDINATE_TOLERANCE: f64 = 1e-6;
/// How far an edge may lie outside the image before it deserves a word.
const SPILL_TOLERANCE: f64 = 1e-3;

pub(super) fn check(scan: &Scan, findings: &mut Vec<Finding>) {
    let nc = scan.config.nc;
    for split in &scan.splits {
        syntax(split, findings);
        let mut report =
            |id, severity, message: &str, remedy: &str, is_hit: &dyn Fn(&LabelLine) -> bool| {
                let places = places(split, is_hit);
                if !places.is_empty() {
                    let message = format!("{} {message}", places.len());
                    findings.push(
                        Finding::new(id, severity, message)
                            .split(split.split)
                            .at(places)
                            .remedy(remedy),
                    );
                }
            };
        report(
            "labels.polygon_line",
            Severity::Info,
            "lines have more than 5 fields; they are read as polygons, and their extent becomes the box.",
            "nothing, if the dataset was made for segmentation",
            &|line| line.polygon,
        );
        report(
            "labels.class_out_of_range",
            Severity::Error,
            &format!("boxes have a class id outside [0, {nc}); training drops them."),
            "correct the ids, or name the missing classes in the data.yaml",
            &|line| line.class < 0 || line.class >= nc as i64,
        );
        report(
            "labels.coords_out_of_range",
            Severity::Error,
            "boxes have coordinates outside [0, 1].",
            "divide x and w by the image's width, y and h by its height: labels are normalised, not in pixels",
            &is_outside,
        );
        report(
            "labels.coords_out_of_range",
            Severity::Warning,
            "boxes reach past the edge of their image; training clamps them.",
            "correct the boxes if that isn't meant",
            &|line| !is_outside(line) && spills(line),
        );
        report(
            "labels.degenerate_box",
            Severity::Error,
            "boxes have no width or no height; training drops them.",
            "delete the lines, or draw the boxes again",
            &|line| line.box_[2] <= 0.0 || line.box_[3] <= 0.0,
        );
    }
}

fn syntax(split: &SplitScan, findings: &mut Vec<Finding>) {
    let bad: Vec<(Place, &str)> = split
        .items
        .iter()
        .flat_map(|item| {
            let place = |line: usize| match line {
                0 => Place::file(&item.sample.label),
                line => Place::line(&item.sample.label, line),
            };
            item.facts
                .syntax
                .iter()
                .map(move |(line, reason)| (place(*line), reason.as_str()))
        })
        .collect();
    let Some((first, reason)) = bad.first() else {
        return;
    };
    let message = format!(
        "{} lines have not the form 'class cx cy w h', the first, {first}: {reason}.",
        bad.len()
    );
    findings.push(
        Finding::new("labels.syntax", Severity::Error, message)
            .split(split.split)
            .at(bad.iter().map(|(place, _)| place.clone()))
            .remedy("correct or delete the lines; training drops them"),
    );
}

fn places(split: &SplitScan, is_hit: &dyn Fn(&LabelLine) -> bool) -> Vec<Place> {
    let lines = split
        .items
        .iter()
        .flat_map(|item| item.facts.lines.iter().map(move |line| (item, line)));
    lines
        .filter(|(_, (_, line))| is_hit(line))
        .map(|(item, (number, _))| Place::line(&item.sample.label, *number))
        .collect()
}

fn is_outside(line: &LabelLine) -> bool {
    line.box_
        .iter()
        .any(|value| *value < -COORDINATE_TOLERANCE || *value > 1.0 + COORDINATE_TOLERANCE)
}

fn spills(line: &LabelLine) -> bool {
    let [cx, cy, w, h] = line.box_;
    cx.min(1.0 - cx) - w / 2.0 < -SPILL_TOLERANCE || cy.min(1.0 - cy) - h / 2.0 < -SPILL_TOLERANCE
}
