//! The check itself: read everything once, then look.

use std::collections::BTreeMap;
use std::path::Path;
use std::thread;

use super::report::{ClassStats, Finding, Report, Severity, SplitStats, Stats};
use super::scan::{Item, Scan, scan};
use super::{balance, config, files, images, labels};
use crate::{DataConfig, Split};

/// How thoroughly to look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CheckOptions {
    /// Decode every image whole, which finds truncated files; otherwise only headers are read.
    pub decode: bool,
    /// Images read at a time, at least one.
    pub threads: usize,
}

impl Default for CheckOptions {
    /// Everything is decoded, on as many threads as there are cores.
    fn default() -> Self {
        Self {
            decode: true,
            threads: thread::available_parallelism().map_or(1, usize::from),
        }
    }
}

/// Checks a dataset: the YAML file, or a folder that holds it. Nothing is changed.
///
/// A dataset that can't be loaded at all gives a report too, with one error in it.
pub fn check(data: &Path, options: CheckOptions) -> Report {
    let config = match DataConfig::load(data) {
        Ok(config) => config,
        Err(error) => return unreadable(data, &error),
    };
    if Split::ALL
        .iter()
        .any(|split| config.annotation_file(*split).is_some())
    {
        return coco(data, &config);
    }
    let scan = scan(config, &options);
    let mut findings = Vec::new();
    config::check(&scan, &mut findings);
    files::check(&scan, &mut findings);
    labels::check(&scan, &mut findings);
    images::check(&scan, &mut findings);
    balance::check(&scan, &mut findings);
    findings.sort_by_key(|finding| finding.severity);
    Report {
        findings,
        stats: stats(&scan, options.decode),
    }
}

fn unreadable(data: &Path, error: &crate::Error) -> Report {
    let finding = Finding::new("config.unreadable", Severity::Error, error.to_string())
        .remedy("point to a YOLO detection dataset: a data.yaml with 'train', 'val' and 'names'");
    let stats = Stats {
        yaml: data.to_path_buf(),
        ..Stats::default()
    };
    Report {
        findings: vec![finding],
        stats,
    }
}

/// The trainer reads COCO files; what a launch checks and stages is text files.
fn coco(data: &Path, config: &DataConfig) -> Report {
    let message = format!(
        "{}: 'annotations' points to COCO JSON, which isn't checked or staged",
        config.file.display()
    );
    let finding = Finding::new("config.coco", Severity::Error, message)
        .remedy("convert it to YOLO label files, one .txt per image");
    Report {
        findings: vec![finding],
        stats: Stats {
            yaml: data.to_path_buf(),
            ..Stats::default()
        },
    }
}

fn stats(scan: &Scan, images_decoded: bool) -> Stats {
    let splits: BTreeMap<Split, SplitStats> = scan
        .splits
        .iter()
        .filter(|split| !split.items.is_empty())
        .map(|split| {
            let stats = SplitStats {
                images: split.items.len(),
                instances: split.items.iter().map(|item| item.facts.lines.len()).sum(),
                background: split
                    .items
                    .iter()
                    .filter(|item| item.is_background())
                    .count(),
            };
            (split.split, stats)
        })
        .collect();
    let train_instances = scan.train_instances();
    let classes = scan
        .config
        .names
        .iter()
        .zip(train_instances)
        .map(|(name, train_instances)| ClassStats {
            name: name.clone(),
            train_instances,
        })
        .collect();
    Stats {
        yaml: scan.config.file.clone(),
        root: scan.config.root.clone(),
        splits,
        classes,
        bytes: scan.bytes,
        images_decoded,
    }
}

impl Scan {
    /// Boxes of each class in the train split.
    pub(super) fn train_instances(&self) -> Vec<usize> {
        let mut counts = vec![0; self.config.nc];
        let train = self
            .splits
            .iter()
            .filter(|split| split.split == Split::Train);
        for (_, line) in train
            .flat_map(|split| &split.items)
            .flat_map(|item| &item.facts.lines)
        {
            if let Some(count) = usize::try_from(line.class)
                .ok()
                .and_then(|class| counts.get_mut(class))
            {
                *count += 1;
            }
        }
        counts
    }
}

impl Item {
    /// Whether the image is there and has no box.
    pub(super) fn is_background(&self) -> bool {
        self.facts.image_exists && self.facts.lines.is_empty()
    }
}
