//! `manifest.json`: which files of a run are complete and verified at the destination.
//!
//! It lies beside the files at the destination, with a copy on the box. A file is replaced there only by a
//! complete and verified newer one, and each replacement is announced first ([`Entry::incoming`]), so that
//! a crash between the two writes leaves no file without its hash.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

/// The manifest's own file name.
pub const FILE_NAME: &str = "manifest.json";

/// One `manifest.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    pub schema_version: u32,
    pub run_id: String,
    pub run_name: String,
    pub updated_at: DateTime<Utc>,
    /// Where the files lie: the destination folder of this run.
    pub location: String,
    /// By file name, ascending.
    pub files: Vec<Entry>,
}

/// One file at the destination.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Its name at the destination, such as `best.pt`.
    pub file: String,
    /// What is there. Absent while the first version is on its way.
    #[serde(default)]
    pub current: Option<Content>,
    /// What is about to replace it: announced before, moved to `current` after.
    #[serde(default)]
    pub incoming: Option<Content>,
}

/// One version of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Content {
    /// Lower-case hexadecimal.
    pub sha256: String,
    pub bytes: u64,
    /// The last finished epoch when it was pushed, counted from 1; for `epoch_N.pt` its N and for `best.pt` the best epoch.
    #[serde(default)]
    pub epoch: Option<u32>,
    pub milestone: Milestone,
    /// The file's modification time on the box.
    pub modified_at: DateTime<Utc>,
    #[serde(default)]
    pub pushed_at: Option<DateTime<Utc>>,
    /// When it was read back from the destination with this hash.
    #[serde(default)]
    pub verified_at: Option<DateTime<Utc>>,
}

/// Why a file was pushed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Milestone {
    FirstBest,
    Best,
    Epoch,
    /// So many minutes have passed.
    Interval,
    /// The training has ended.
    End,
    /// `gpurun push`.
    Requested,
    /// A small file (status, metrics, configuration) that goes along with a checkpoint.
    Companion,
}

impl Manifest {
    /// The verified version of `file`.
    pub fn verified(&self, file: &str) -> Option<&Content> {
        self.files
            .iter()
            .find(|entry| entry.file == file)?
            .current
            .as_ref()
            .filter(|content| content.verified_at.is_some())
    }

    /// Whether `file` with this hash is one this manifest answers for, a replacement in flight included.
    pub fn accounts_for(&self, file: &str, sha256: &str) -> bool {
        self.files
            .iter()
            .filter(|entry| entry.file == file)
            .flat_map(|entry| [&entry.current, &entry.incoming])
            .flatten()
            .any(|content| content.sha256 == sha256)
    }

    /// Says that `content` is about to replace `file`.
    pub fn announce(&mut self, file: &str, content: Content) {
        self.entry(file).incoming = Some(content);
    }

    /// Says that `content` now is `file`.
    pub fn settle(&mut self, file: &str, content: Content) {
        let entry = self.entry(file);
        entry.current = Some(content);
        entry.incoming = None;
    }

    /// The newest verified checkpoint: companions don't count.
    pub fn newest_checkpoint(&self) -> Option<(&str, &Content)> {
        self.files
            .iter()
            .filter_map(|entry| Some((entry.file.as_str(), entry.current.as_ref()?)))
            .filter(|(_, content)| {
                content.verified_at.is_some() && content.milestone != Milestone::Companion
            })
            .max_by_key(|(_, content)| content.modified_at)
    }

    fn entry(&mut self, file: &str) -> &mut Entry {
        let place = self
            .files
            .binary_search_by(|entry| entry.file.as_str().cmp(file));
        let place = place.unwrap_or_else(|place| {
            let entry = Entry {
                file: file.to_owned(),
                current: None,
                incoming: None,
            };
            self.files.insert(place, entry);
            place
        });
        &mut self.files[place]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(seconds, 0).unwrap()
    }

    fn content(sha256: &str, seconds: i64, milestone: Milestone) -> Content {
        Content {
            sha256: sha256.to_owned(),
            bytes: 1,
            epoch: None,
            milestone,
            modified_at: at(seconds),
            pushed_at: Some(at(seconds)),
            verified_at: Some(at(seconds)),
        }
    }

    fn manifest() -> Manifest {
        Manifest {
            schema_version: 1,
            run_id: "3f".to_owned(),
            run_name: "yolo".to_owned(),
            updated_at: at(0),
            location: "/weights/yolo".to_owned(),
            files: Vec::new(),
        }
    }

    #[test]
    fn between_announcing_and_settling_both_versions_are_accounted_for() {
        let mut manifest = manifest();
        manifest.settle("best.pt", content("old", 1, Milestone::FirstBest));
        manifest.announce("best.pt", content("new", 2, Milestone::Best));
        assert!(manifest.accounts_for("best.pt", "old"));
        assert!(manifest.accounts_for("best.pt", "new"));
        assert_eq!(manifest.verified("best.pt").unwrap().sha256, "old");

        manifest.settle("best.pt", content("new", 2, Milestone::Best));
        assert!(!manifest.accounts_for("best.pt", "old"));
        assert_eq!(manifest.verified("best.pt").unwrap().sha256, "new");
    }

    #[test]
    fn files_stay_sorted_and_single() {
        let mut manifest = manifest();
        for file in ["last.pt", "best.pt", "epoch_10.pt", "best.pt"] {
            manifest.settle(file, content(file, 1, Milestone::End));
        }
        let names: Vec<&str> = manifest.files.iter().map(|e| e.file.as_str()).collect();
        assert_eq!(names, ["best.pt", "epoch_10.pt", "last.pt"]);
    }

    #[test]
    fn the_newest_checkpoint_is_verified_and_no_companion() {
        let mut manifest = manifest();
        manifest.settle("best.pt", content("b", 5, Milestone::Best));
        manifest.settle("status.json", content("s", 9, Milestone::Companion));
        manifest.announce("last.pt", content("l", 8, Milestone::End));
        assert_eq!(manifest.newest_checkpoint().unwrap().0, "best.pt");
    }
}
