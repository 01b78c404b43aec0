//! What a check hands back.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::Split;

/// Places kept per finding; the count says how many there are.
const MOST_PLACES: usize = 20;

/// Everything found, errors first.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// Sorted by severity, errors first.
    pub findings: Vec<Finding>,
    /// What the dataset consists of.
    pub stats: Stats,
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
    pub id: &'static str,
    /// How much it matters.
    pub severity: Severity,
    /// Where it is, unless it concerns the whole dataset.
    pub split: Option<Split>,
    /// What is wrong, in one sentence.
    pub message: String,
    /// How often.
    pub count: usize,
    /// The first places, at most 20.
    pub places: Vec<Place>,
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
            count: 1,
            places: Vec::new(),
            remedy: String::new(),
        }
    }

    pub(crate) fn split(mut self, split: Split) -> Self {
        self.split = Some(split);
        self
    }

    /// Sets the count to the number of places and keeps the first of them.
    pub(crate) fn at(mut self, places: impl IntoIterator<Item = Place>) -> Self {
        let mut places = places.into_iter();
        self.places = places.by_ref().take(MOST_PLACES).collect();
        self.count = self.places.len() + places.count();
        self
    }

    pub(crate) fn remedy(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = remedy.into();
        self
    }
}

/// A file, and a line in it where that is known. Shown as `file:line`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Place {
    /// The file.
    pub path: PathBuf,
    /// 1-based.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
}

impl Place {
    pub(crate) fn file(path: &Path) -> Self {
        Self {
            path: path.to_path_buf(),
            line: None,
        }
    }

    pub(crate) fn line(path: &Path, line: usize) -> Self {
        Self {
            path: path.to_path_buf(),
            line: Some(line),
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
    /// The splits that have images.
    pub splits: BTreeMap<Split, SplitStats>,
    /// By class id.
    pub classes: Vec<ClassStats>,
    /// Size of all images and label files of all splits, each file once.
    pub bytes: u64,
    /// Whether the images were decoded whole; otherwise only their headers were read.
    pub images_decoded: bool,
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

/// One class.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ClassStats {
    /// From the dataset description.
    pub name: String,
    /// Boxes of it in the train split.
    pub train_instances: usize,
}
