//! What a launch refuses although LibreYOLO's doctor lets it pass.

use std::path::Path;

use super::report::{Finding, Report, Severity, Stats};
use super::run::{CheckError, CheckOptions, check};
use crate::{DataConfig, Split};

/// [`check`] before money is spent: a dataset that can't be loaded, can't be staged or teaches nothing gives a report
/// too, with an error in it.
pub fn check_for_launch(data: &Path, options: &CheckOptions) -> Report {
    match check(data, options) {
        Ok(mut report) => {
            report.findings.extend(obstacles(data, &report.stats));
            report.sort();
            report
        }
        Err(error) => unreadable(data, &error),
    }
}

fn unreadable(data: &Path, error: &CheckError) -> Report {
    let finding = Finding::new("config.unreadable", Severity::Error, error.to_string())
        .remedy("point to a YOLO detection dataset: a data.yaml with 'train', 'val' and 'names'");
    Report {
        findings: vec![finding],
        stats: Stats {
            yaml: data.to_path_buf(),
            ..Stats::default()
        },
        skipped_checks: Vec::new(),
    }
}

/// The obstacles to a launch that no check of the doctor is about.
pub fn obstacles(data: &Path, stats: &Stats) -> Vec<Finding> {
    let mut findings = Vec::new();
    let has_annotations = DataConfig::load(data).is_ok_and(|config| {
        let mut splits = Split::ALL.into_iter();
        splits.any(|split| config.annotation_file(split).is_some())
    });
    if has_annotations {
        findings.push(
            Finding::new(
                "config.coco",
                Severity::Error,
                "'annotations' points to COCO JSON, which isn't checked or staged.",
            )
            .remedy("convert it to YOLO label files, one .txt per image"),
        );
        return findings;
    }
    if let Some(train) = stats.split(Split::Train)
        && train.instances == 0
    {
        findings.push(
            Finding::new(
                "balance.no_instances",
                Severity::Error,
                "no image of the train split has a usable box.",
            )
            .split(Split::Train)
            .remedy("label files are looked for where the image's path with 'labels' for 'images' points: put them there"),
        );
    }
    findings
}
