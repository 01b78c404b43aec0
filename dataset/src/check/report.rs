//! What a check hands back.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use serde_json::Value;

use crate::Split;

/// Places kept per finding; the count says how many there are.
const MOST_PLACES: usize = 20;

/// Everything found, errors first.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// Sorted by severity, errors first, then by check and split.
    pub findings: Vec<Finding>,
    /// What the dataset consists of.
    pub stats: Stats,
    /// The checks that were not asked for, by name.
    pub skipped_checks: Vec<&'static str>,
}

impl Report {
    /// How many findings are of this severity.
    pub fn count(&self, severity: Severity) -> usize {
        self.findings
            .iter()
            .filter(|finding| finding.severity == severity)
            .count()
    }

    /// Whether nothing stands against a training on this dataset.
    pub fn is_usable(&self) -> bool {
        self.count(Severity::Error) == 0
    }

    pub(super) fn sort(&mut self) {
        self.findings.sort_by_key(|finding| {
            let split = finding.split.map_or("", Split::as_str);
            (finding.severity, finding.id, split)
        });
    }
}

/// How much a finding matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Data is lost, or the training stops or learns nothing.
    Error,
    /// Probably not meant.
    Warning,
    /// Worth knowing.
    Info,
}

/// One kind of problem in one split.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Finding {
    /// Stable identifier such as `labels.syntax`.
    #[serde(rename = "check_id")]
    pub id: &'static str,
    /// How much it matters.
    pub severity: Severity,
    /// Where it is, unless it concerns the whole dataset.
    pub split: Option<Split>,
    /// What is wrong, in one sentence.
    pub message: String,
    /// How often: lines, boxes, images, pairs or classes, as the check counts. None where there is nothing to count.
    pub count: Option<usize>,
    /// The first files, at most 20, each with its first line.
    #[serde(flatten, serialize_with = "paths_and_lines")]
    pub places: Vec<Place>,
    /// The figures behind the message, for programs.
    pub details: Option<Value>,
    /// What to do about it.
    pub remedy: String,
}

impl Finding {
    pub(crate) fn new(id: &'static str, severity: Severity, message: impl Into<String>) -> Self {
        Self {
            id,
            severity,
            split: None,
            message: message.into(),
            count: None,
            places: Vec::new(),
            details: None,
            remedy: String::new(),
        }
    }

    pub(crate) fn split(mut self, split: Split) -> Self {
        self.split = Some(split);
        self
    }

    pub(crate) fn count(mut self, count: usize) -> Self {
        self.count = Some(count);
        self
    }

    /// Keeps the first of the places.
    pub(crate) fn at(mut self, places: impl IntoIterator<Item = Place>) -> Self {
        self.places = places.into_iter().take(MOST_PLACES).collect();
        self
    }

    pub(crate) fn details(mut self, details: Value) -> Self {
        self.details = Some(details);
        self
    }

    pub(crate) fn remedy(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = remedy.into();
        self
    }
}

/// `paths`, and `lines`, the line of each path or null.
fn paths_and_lines<S: Serializer>(places: &[Place], serializer: S) -> Result<S::Ok, S::Error> {
    let paths: Vec<_> = places
        .iter()
        .map(|place| place.path.to_string_lossy())
        .collect();
    let lines: Vec<_> = places.iter().map(|place| place.line).collect();
    let mut map = serializer.serialize_map(Some(2))?;
    map.serialize_entry("paths", &paths)?;
    map.serialize_entry("lines", &lines)?;
    map.end()
}

/// A file, and a line in it where that is known. Shown as `file:line`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The file.
    pub path: PathBuf,
    /// 1-based.
    pub line: Option<usize>,
}

impl Place {
    pub(crate) fn file(path: &Path) -> Self {
        Self {
            path: path.to_path_buf(),
            line: None,
        }
    }

    /// Line 0 is the file as a whole.
    pub(crate) fn line(path: &Path, line: u32) -> Self {
        Self {
            path: path.to_path_buf(),
            line: (line > 0).then_some(line as usize),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        write!(formatter, "{}", self.path.display())?;
        self.line
            .map_or(Ok(()), |line| write!(formatter, ":{line}"))
    }
}

/// What a dataset consists of.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Stats {
    /// The dataset description.
    pub yaml: PathBuf,
    /// What its paths are relative to.
    pub root: PathBuf,
    /// Number of classes, where the description tells.
    pub nc: Option<i64>,
    /// The splits that have images, in their usual order.
    #[serde(serialize_with = "as_map")]
    pub splits: Vec<(&'static str, SplitStats)>,
    /// Boxes of each class that the train split has, by name, in the order of class ids.
    #[serde(serialize_with = "as_map")]
    pub train_instance_counts: Vec<(String, u64)>,
    /// Whether the images were read.
    pub images_scanned: bool,
    /// Size of all images and label files of all splits, each file once; without the images where they weren't read.
    pub bytes: u64,
}

impl Stats {
    /// A split's figures, where it has images.
    pub fn split(&self, split: Split) -> Option<SplitStats> {
        self.splits
            .iter()
            .find(|(name, _)| *name == split.as_str())
            .map(|(_, stats)| *stats)
    }
}

fn as_map<K: Serialize, V: Serialize, S: Serializer>(
    pairs: &[(K, V)],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map(pairs.iter().map(|(key, value)| (key, value)))
}

/// What a split consists of.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct SplitStats {
    /// Images named, there or not.
    pub images: usize,
    /// Boxes in well-formed lines.
    pub instances: usize,
    /// Images that are there and have no box.
    pub background: usize,
}
