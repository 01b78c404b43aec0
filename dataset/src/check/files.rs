//! `files.*`: what lies where.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use super::report::{Finding, Place, Severity};
use super::scan::{Scan, SplitScan};
use crate::split::{is_image, walk};

/// Text files that tools put beside labels.
const COMPANION_NAMES: [&str; 2] = ["classes.txt", "labels.txt"];
/// Suffixes of files that legitimately lie beside images.
const COMPANION_SUFFIXES: [&str; 7] = ["txt", "cache", "json", "xml", "yaml", "yml", "csv"];

pub(super) fn check(scan: &Scan, findings: &mut Vec<Finding>) {
    for split in &scan.splits {
        missing(split, findings);
        unsupported(scan, split, findings);
        collisions(split, findings);
    }
    orphans(scan, findings);
}

fn missing(split: &SplitScan, findings: &mut Vec<Finding>) {
    let all = split.items.len();
    let images: Vec<Place> = split
        .items
        .iter()
        .filter(|item| !item.facts.image_exists)
        .map(|item| Place::file(&item.sample.image))
        .collect();
    if !images.is_empty() {
        findings.push(
            Finding::new(
                "files.missing_image",
                Severity::Error,
                format!(
                    "{} of {all} images named by the list don't exist.",
                    images.len()
                ),
            )
            .split(split.split)
            .at(images)
            .remedy("restore the files, or take their lines out of the list"),
        );
    }
    let labels: Vec<Place> = split
        .items
        .iter()
        .filter(|item| item.facts.image_exists && !item.facts.label_exists)
        .map(|item| Place::file(&item.sample.image))
        .collect();
    if !labels.is_empty() {
        let message = format!(
            "{} of {all} images have no label file and count as background.",
            labels.len()
        );
        findings.push(
            Finding::new("files.missing_label", Severity::Info, message)
                .split(split.split)
                .at(labels)
                .remedy("if they aren't background, put each label file where the image's path with 'labels' for 'images' points"),
        );
    }
}

fn unsupported(scan: &Scan, split: &SplitScan, findings: &mut Vec<Finding>) {
    let mut ignored = Vec::new();
    for folder in scan
        .config
        .entries(split.split)
        .iter()
        .filter(|entry| entry.is_dir())
    {
        // A folder that can't be listed has been reported as an entry already.
        let _ = walk(folder, &mut |file| {
            if !is_image(&file) && !is_companion(&file) {
                ignored.push(file);
            }
        });
    }
    if ignored.is_empty() {
        return;
    }
    ignored.sort();
    let message = format!(
        "{} files among the images are no images and are ignored.",
        ignored.len()
    );
    findings.push(
        Finding::new("files.unsupported_ext", Severity::Warning, message)
            .split(split.split)
            .at(ignored.iter().map(|file| Place::file(file)))
            .remedy("convert them to JPEG or PNG if they are images, else move them away"),
    );
}

fn is_companion(path: &Path) -> bool {
    let hidden = path
        .file_name()
        .is_some_and(|name| name.to_string_lossy().starts_with('.'));
    let suffix = path.extension().and_then(|suffix| suffix.to_str());
    hidden
        || suffix.is_some_and(|suffix| {
            COMPANION_SUFFIXES
                .iter()
                .any(|known| known.eq_ignore_ascii_case(suffix))
        })
}

fn collisions(split: &SplitScan, findings: &mut Vec<Finding>) {
    let mut by_label: BTreeMap<String, BTreeSet<&Path>> = BTreeMap::new();
    for item in &split.items {
        let label = item.sample.label.to_string_lossy().to_lowercase();
        by_label
            .entry(label)
            .or_default()
            .insert(&item.sample.image);
    }
    let colliding: Vec<_> = by_label
        .into_values()
        .filter(|images| images.len() > 1)
        .collect();
    if colliding.is_empty() {
        return;
    }
    let message = format!(
        "{} groups of images share one label file: same name, other suffix or case.",
        colliding.len()
    );
    findings.push(
        Finding::new("files.case_collision", Severity::Warning, message)
            .split(split.split)
            .at(colliding.iter().flatten().map(|path| Place::file(path)))
            .remedy("give every image a name of its own"),
    );
}

fn orphans(scan: &Scan, findings: &mut Vec<Finding>) {
    let items = || scan.splits.iter().flat_map(|split| &split.items);
    let claimed: BTreeSet<&Path> = items().map(|item| item.sample.label.as_path()).collect();
    let folders: BTreeSet<&Path> = items()
        .filter_map(|item| item.sample.label.parent())
        .collect();
    let mut orphans: Vec<PathBuf> = folders
        .into_iter()
        .filter_map(|folder| fs::read_dir(folder).ok())
        .flatten()
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| {
            path.extension().is_some_and(|suffix| suffix == "txt")
                && !claimed.contains(path.as_path())
        })
        .filter(|path| {
            path.file_name()
                .is_none_or(|name| COMPANION_NAMES.iter().all(|known| name != *known))
        })
        .filter(|path| path.is_file())
        .collect();
    // A list of images may lie in the same folder as its labels.
    orphans.retain(|path| {
        !scan
            .splits
            .iter()
            .any(|split| scan.config.entries(split.split).contains(path))
    });
    if orphans.is_empty() {
        return;
    }
    orphans.sort();
    let message = format!(
        "{} label files belong to no image and are ignored.",
        orphans.len()
    );
    findings.push(
        Finding::new("files.orphan_label", Severity::Warning, message)
            .at(orphans.iter().map(|path| Place::file(path)))
            .remedy("restore the images, or delete the label files"),
    );
}
