//! `files.*`: what lies where.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use super::report::{Finding, Place, Severity};
use super::scan::{Item, Scan};
use crate::Split;

/// Text files that tools put beside labels.
const COMPANION_NAMES: [&str; 2] = ["classes.txt", "labels.txt"];
/// Suffixes of files that legitimately lie beside images.
const COMPANION_SUFFIXES: [&str; 7] = ["txt", "cache", "json", "xml", "yaml", "yml", "csv"];

pub(super) fn missing_label(scan: &Scan) -> Vec<Finding> {
    scan.images(
        |item| item.image_exists && !item.labels.exists,
        |split, count, all| {
            Finding::new(
                "files.missing_label",
                Severity::Info,
                format!("{count} of {all} images have no label file and count as background."),
            )
            .split(split)
            .remedy("if they aren't background, put each label file where the image's path with 'labels' for 'images' points")
        },
    )
}

pub(super) fn missing_image(scan: &Scan) -> Vec<Finding> {
    scan.images(
        |item| !item.image_exists,
        |split, count, all| {
            Finding::new(
                "files.missing_image",
                Severity::Error,
                format!("{count} of {all} images named by the list don't exist."),
            )
            .split(split)
            .remedy("restore the files, or take their lines out of the list")
        },
    )
}

impl Scan {
    /// A finding for each split with such images, given their number and that of all.
    pub(super) fn images(
        &self,
        is_hit: impl Fn(&Item) -> bool,
        finding: impl Fn(Split, usize, usize) -> Finding,
    ) -> Vec<Finding> {
        let findings = self.splits.iter().filter_map(|split| {
            let hits: Vec<&Item> = split.items.iter().filter(|item| is_hit(item)).collect();
            (!hits.is_empty()).then(|| {
                finding(split.split, hits.len(), split.items.len())
                    .count(hits.len())
                    .at(hits.iter().map(|item| Place::file(&item.sample.image)))
            })
        });
        findings.collect()
    }
}

pub(super) fn unsupported_ext(scan: &Scan) -> Vec<Finding> {
    let of_split = |split: Split| {
        let strangers = scan.strangers.iter().filter(|(of, _)| *of == split);
        let mut files: Vec<&Path> = strangers.map(|(_, file)| file.as_path()).collect();
        files.sort();
        (!files.is_empty()).then(|| {
            Finding::new(
                "files.unsupported_ext",
                Severity::Warning,
                format!(
                    "{} files among the images are no images and are ignored.",
                    files.len()
                ),
            )
            .split(split)
            .count(files.len())
            .at(files.into_iter().map(Place::file))
            .remedy("convert them to JPEG or PNG if they are images, else move them away")
        })
    };
    Split::ALL.into_iter().filter_map(of_split).collect()
}

/// Whether a file may lie beside images without a word.
pub(super) fn is_companion(path: &Path) -> bool {
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

pub(super) fn case_collision(scan: &Scan) -> Vec<Finding> {
    let of_split = |split: &super::scan::SplitScan| {
        let mut groups: HashMap<String, Vec<&Path>> = HashMap::new();
        let mut order = Vec::new();
        for item in &split.items {
            let label = item.sample.label.to_string_lossy().to_lowercase();
            let group = groups.entry(label).or_insert_with_key(|label| {
                order.push(label.clone());
                Vec::new()
            });
            group.push(&item.sample.image);
        }
        let colliding: Vec<&Vec<&Path>> = order
            .iter()
            .filter_map(|label| groups.get(label).filter(|images| images.len() > 1))
            .collect();
        (!colliding.is_empty()).then(|| {
            Finding::new(
                "files.case_collision",
                Severity::Warning,
                format!(
                    "{} label files are each that of several images: same name, other suffix or case.",
                    colliding.len()
                ),
            )
            .split(split.split)
            .count(colliding.len())
            .at(colliding.into_iter().flatten().map(|path| Place::file(path)))
            .remedy("give every image a name of its own")
        })
    };
    scan.splits.iter().filter_map(of_split).collect()
}

pub(super) fn orphan_label(scan: &Scan) -> Vec<Finding> {
    let labels = || {
        let items = scan.splits.iter().flat_map(|split| &split.items);
        items.map(|item| item.sample.label.as_path())
    };
    let claimed: HashSet<&Path> = labels().collect();
    let folders: BTreeSet<&Path> = labels().filter_map(Path::parent).collect();
    // A list of images may lie in the same folder as its labels.
    let lists: HashSet<&Path> = Split::ALL
        .into_iter()
        .flat_map(|split| scan.description.entries(split))
        .map(PathBuf::as_path)
        .collect();
    let is_orphan = |path: &Path| {
        let is_companion = path
            .file_name()
            .is_some_and(|name| COMPANION_NAMES.iter().any(|known| name == *known));
        !claimed.contains(path) && !is_companion && !lists.contains(path)
    };
    let mut orphans: Vec<PathBuf> = folders
        .into_iter()
        .filter_map(|folder| fs::read_dir(folder).ok())
        .flatten()
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| path.extension().is_some_and(|suffix| suffix == "txt") && is_orphan(path))
        .filter(|path| path.is_file())
        .collect();
    // The same file by another name, through a link.
    if !orphans.is_empty() {
        let targets: HashSet<PathBuf> = claimed
            .iter()
            .filter_map(|path| path.canonicalize().ok())
            .collect();
        orphans.retain(|path| {
            path.canonicalize()
                .map_or(true, |path| !targets.contains(&path))
        });
    }
    if orphans.is_empty() {
        return Vec::new();
    }
    orphans.sort();
    vec![
        Finding::new(
            "files.orphan_label",
            Severity::Warning,
            format!(
                "{} label files belong to no image and are ignored.",
                orphans.len()
            ),
        )
        .count(orphans.len())
        .at(orphans.iter().map(|path| Place::file(path)))
        .remedy("restore the images, or delete the label files"),
    ]
}
