//! `images.*`: whether the pixels can be read.

use super::report::{Finding, Place, Severity};
use super::scan::Scan;

pub(super) fn check(scan: &Scan, findings: &mut Vec<Finding>) {
    for split in &scan.splits {
        let bad = split.items.iter().filter_map(|item| {
            item.facts
                .image_error
                .as_ref()
                .map(|reason| (&item.sample.image, reason))
        });
        let bad: Vec<_> = bad.collect();
        let Some((first, reason)) = bad.first() else {
            continue;
        };
        let message = format!(
            "{} images can't be decoded, the first, {}: {reason}.",
            bad.len(),
            first.display()
        );
        findings.push(
            Finding::new("images.corrupt", Severity::Error, message)
                .split(split.split)
                .at(bad.iter().map(|(path, _)| Place::file(path)))
                .remedy("fetch the files again, or remove them from the split"),
        );
    }
}
