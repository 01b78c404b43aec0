//! The wire of this provider: `box.json`, the one file that says what a box is.

use chrono::{DateTime, Utc};
use gpurun_pricing::{Gigabytes, RateCard};
use serde::{Deserialize, Serialize};

/// The version this code writes. A newer one is not read: what it means is unknown.
pub(super) const VERSION: u32 = 1;

/// `box.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct BoxFile {
    pub(super) version: u32,
    pub(super) id: String,
    pub(super) label: String,
    /// The disk that was rented. Nothing holds the box to it.
    pub(super) disk_gb: Gigabytes,
    /// Indices of the GPUs the box has now, as `nvidia-smi` counts them. A stopped box has none.
    pub(super) gpus: Vec<u32>,
    /// How many GPUs were rented.
    pub(super) gpu_count: u32,
    /// The name of the GPUs rented, so that a start looks for the same.
    #[serde(default)]
    pub(super) gpu_name: Option<String>,
    pub(super) rates: RateCard,
    /// Every state the box has had, oldest first; the last one is its state now. Never empty.
    pub(super) timeline: Vec<StateChange>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct StateChange {
    pub(super) state: BoxState,
    pub(super) at: DateTime<Utc>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum BoxState {
    Running,
    Stopping,
    Stopped,
    Destroying,
}

impl BoxFile {
    /// The state the box is in, and since when. `None` only for a file somebody emptied by hand.
    pub(super) fn now(&self) -> Option<StateChange> {
        self.timeline.last().copied()
    }
}
