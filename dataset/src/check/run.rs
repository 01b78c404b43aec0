//! The check itself: read everything once, then look.

use std::collections::BTreeMap;
use std::path::Path;
use std::thread;

use super::description::Description;
use super::report::{Report, SplitStats, Stats};
use super::scan::{Reading, Scan, scan};
use super::selection::CheckSelection;
use super::task::other_task;
use crate::{Error, Split};

/// How thoroughly to look.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckOptions {
    /// What to look for. Images are read, and decoded, only where one of these needs it.
    pub selection: CheckSelection,
    /// The longer side of an image in training, in pixels, by which an object is too small.
    pub imgsz: u32,
    /// Files read at a time, at least one.
    pub threads: usize,
}

impl Default for CheckOptions {
    /// Everything, for 640 pixels, on as many threads as there are cores.
    fn default() -> Self {
        Self {
            selection: CheckSelection::default(),
            imgsz: 640,
            threads: thread::available_parallelism().map_or(1, usize::from),
        }
    }
}

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    /// The description isn't there, or isn't one.
    #[error(transparent)]
    Unreadable(#[from] Error),
    /// A dataset, but not for finding boxes.
    #[error(
        "{0} makes this a dataset of another kind; only boxes are checked, a line 'class cx cy w h' each"
    )]
    OtherTask(String),
}

/// Checks a dataset: the YAML file, or a folder that holds it. Nothing is changed.
///
/// The checks, their names and their bounds are those of LibreYOLO 1.6.0's doctor.
///
/// # Errors
/// A description that can't be read, and a dataset of another kind. Everything else is a finding.
pub fn check(data: &Path, options: &CheckOptions) -> Result<Report, CheckError> {
    let description = Description::read(data)?;
    if description.has_keypoints {
        return Err(CheckError::OtherTask("'kpt_shape'".into()));
    }
    let reading = if options.selection.checks().any(|check| check.needs_images) {
        Reading::ImagesToo
    } else {
        Reading::LabelsOnly
    };
    let scan = scan(description, options, reading);
    if let Some(reason) = other_task(&scan.fields) {
        return Err(CheckError::OtherTask(reason));
    }
    let checks = options.selection.checks();
    let mut report = Report {
        findings: checks.flat_map(|check| (check.run)(&scan)).collect(),
        stats: stats(&scan),
        skipped_checks: options.selection.skipped(),
    };
    report.sort();
    Ok(report)
}

fn stats(scan: &Scan) -> Stats {
    let splits = scan.splits.iter().map(|split| {
        let items = &split.items;
        let stats = SplitStats {
            images: items.len(),
            instances: items.iter().map(|item| item.labels.boxes as usize).sum(),
            background: items.iter().filter(|item| item.is_background()).count(),
        };
        (split.split.as_str(), stats)
    });
    let description = &scan.description;
    let nameless = BTreeMap::new();
    let train = scan
        .split(Split::Train)
        .map_or(&nameless, |train| &train.classes);
    let counts = train.iter().map(|(class, count)| {
        let name = description.names.get(class).cloned();
        (name.unwrap_or_else(|| class.to_string()), *count)
    });
    Stats {
        yaml: description.file.clone(),
        root: description.root.clone(),
        nc: description.nc,
        splits: splits.collect(),
        train_instance_counts: counts.collect(),
        images_scanned: scan.images_scanned,
        bytes: scan.bytes(),
    }
}
