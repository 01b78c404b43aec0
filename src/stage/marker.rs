//! What says that a folder is a data set put there by gpurun, whole, and which one.

use super::error::{Result, StageError};
use serde::{Deserialize, Serialize};
use std::{fs, path::Path};

const NAME: &str = ".gpurun-data.json";

/// Written into the folder before it gets its final name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Marker {
    pub(super) schema_version: u32,
    /// As in the stage specification: the files as they were at the source.
    pub(super) fingerprint: String,
    pub(super) files: u64,
    pub(super) bytes: u64,
}

impl Marker {
    /// The folder's marker; `None` for a missing or unreadable one.
    pub(super) fn read(folder: &Path) -> Option<Self> {
        serde_json::from_slice(&fs::read(folder.join(NAME)).ok()?).ok()
    }

    pub(super) fn write(&self, folder: &Path) -> Result<()> {
        let path = folder.join(NAME);
        let text = serde_json::to_vec(self).expect("numbers and strings are JSON");
        fs::write(&path, text).map_err(StageError::io("can't be written", &path))
    }
}
