//! What was seen, and when. A thing not seen is `Unknown`: that is neither idle nor absent.

use chrono::{DateTime, Utc};
use gpurun_pricing::HourlyRate;
use serde::{Deserialize, Serialize};

/// Something looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "sight")]
pub enum Sighting<T> {
    Seen {
        value: T,
        at: DateTime<Utc>,
    },
    Unknown {
        why: String,
        /// Since when nobody has seen it, where that is known.
        since: Option<DateTime<Utc>>,
    },
}

impl<T> Sighting<T> {
    /// The value, if it was seen.
    pub fn value(&self) -> Option<&T> {
        match self {
            Self::Seen { value, .. } => Some(value),
            Self::Unknown { .. } => None,
        }
    }
}

/// One look at one run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Observation {
    pub now: DateTime<Utc>,
    /// From the provider.
    pub instance: Sighting<InstanceView>,
    /// From the box; [`crate::judge`] makes it.
    pub training: Sighting<TrainingView>,
    /// From the box's manifest and the destination.
    pub checkpoints: Sighting<CheckpointView>,
}

/// The box as its provider shows it. `since` is when that state began, where the provider says so.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "state")]
pub enum InstanceView {
    /// A readable list without our label: proven absent.
    Absent,
    Creating {
        id: String,
        since: Option<DateTime<Utc>>,
    },
    Running {
        id: String,
        since: Option<DateTime<Utc>>,
        zero_gpus: bool,
        /// All that it costs now, where the provider says so.
        #[serde(default)]
        price: Option<HourlyRate>,
    },
    Stopping {
        id: String,
        since: Option<DateTime<Utc>>,
    },
    /// It runs, new, and doesn't know the run's key: nothing can be done on it yet.
    Locked { id: String },
    Stopped {
        id: String,
        since: Option<DateTime<Utc>>,
    },
    Destroying {
        id: String,
        since: Option<DateTime<Utc>>,
    },
    Broken {
        id: String,
        since: Option<DateTime<Utc>>,
        why: String,
    },
    /// More than one box with our label. Oldest first; the provider's order where ages are unknown.
    Several { ids: Vec<String> },
}

impl InstanceView {
    /// The provider's id; `None` for none and for several.
    #[must_use]
    pub fn id(&self) -> Option<&str> {
        match self {
            Self::Absent | Self::Several { .. } => None,
            Self::Creating { id, .. }
            | Self::Running { id, .. }
            | Self::Locked { id }
            | Self::Stopping { id, .. }
            | Self::Stopped { id, .. }
            | Self::Destroying { id, .. }
            | Self::Broken { id, .. } => Some(id),
        }
    }
}

/// The training, judged from all evidence together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrainingView {
    pub state: TrainingState,
    /// Which of the run's launches this is about, from one.
    pub attempt: Option<u32>,
    /// Last finished epoch, from one.
    pub epoch: Option<u32>,
    pub total_epochs: Option<u32>,
    pub best: Option<Metric>,
    pub eta_seconds: Option<u64>,
    pub mean_epoch_milliseconds: Option<u64>,
    pub last_progress_at: Option<DateTime<Utc>>,
    pub started_at: Option<DateTime<Utc>>,
    pub ended_at: Option<DateTime<Utc>>,
    pub error: Option<TrainingError>,
    pub exit_code: Option<i32>,
    pub signal: Option<i32>,
    /// Whether somebody on the box watches and pushes.
    pub agent: AgentState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TrainingState {
    NotLaunched,
    /// The process lives, no epoch has begun to show.
    Starting,
    Running,
    Completed,
    Failed,
    Killed,
    /// The process lives and makes no progress.
    Stalled,
}

impl TrainingState {
    /// The process lives.
    #[must_use]
    pub fn is_alive(self) -> bool {
        matches!(self, Self::Starting | Self::Running | Self::Stalled)
    }

    /// The process is gone.
    #[must_use]
    pub fn is_over(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Killed)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AgentState {
    Alive,
    /// Its heartbeat is old: nobody pushes checkpoints.
    Silent,
    /// No heartbeat was ever seen.
    Missing,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Metric {
    pub name: String,
    pub value: f64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrainingError {
    /// The exception's type, for example `RuntimeError`.
    pub kind: String,
    pub message: String,
}

/// Which checkpoints exist and which are proven to be off the box.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckpointView {
    /// Newest complete file on the box that the job wants kept; `None`: there is none yet.
    pub newest_on_box: Option<FileStamp>,
    pub newest_verified: Option<Verified>,
    /// Every wanted file on the box has an equal hash at its destination.
    pub all_verified: bool,
    /// Names not verified yet.
    pub pending: Vec<String>,
    /// Those of them that the box holds ready for us: it can't reach their destination itself.
    #[serde(default)]
    pub to_fetch: Vec<String>,
    pub last_error: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileStamp {
    /// Relative to the run directory, for example `weights/last.pt`.
    pub name: String,
    /// `None`: not hashed yet.
    pub sha256: Option<String>,
    pub bytes: u64,
    pub modified_at: DateTime<Utc>,
}

/// A checkpoint off the box, read back and equal by hash.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verified {
    pub file: String,
    pub sha256: String,
    pub bytes: u64,
    pub epoch: Option<u32>,
    /// Why it was pushed: `first-best`, `best`, `epoch`, `timer`, `end`.
    pub milestone: String,
    pub location: String,
    pub verified_at: DateTime<Utc>,
}
