//! `heartbeat.json`: written by the agent every few seconds, replaced atomically.
//!
//! A heartbeat that grows old says that the agent or the box is gone, not that the training is: see
//! [`crate::report::BoxReport`], which looks at the processes themselves.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

/// One process, told apart from a later one with the same pid.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ProcessRef {
    pub pid: u32,
    /// Start time in clock ticks after boot (field 22 of `/proc/PID/stat`).
    pub start_ticks: u64,
    /// The kernel's boot id: ticks of two boots don't compare.
    pub boot_id: String,
}

/// One `heartbeat.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Heartbeat {
    pub schema_version: u32,
    pub run_id: String,
    pub attempt: u32,
    /// By the box's clock.
    pub written_at: DateTime<Utc>,
    /// Seconds to the next one.
    pub period_seconds: u32,
    pub phase: AgentPhase,
    pub agent: ProcessRef,
    /// Absent before the training has started.
    #[serde(default)]
    pub training: Option<TrainingProcess>,
    /// When a new epoch (or step) last showed in the run directory's files.
    #[serde(default)]
    pub last_progress_at: Option<DateTime<Utc>>,
    #[serde(default)]
    pub usage: Option<Usage>,
    /// Empty where there is no `nvidia-smi`, or it doesn't answer.
    #[serde(default)]
    pub gpus: Vec<GpuSample>,
    #[serde(default)]
    pub disk: Option<Disk>,
    #[serde(default)]
    pub push: PushState,
}

/// What the agent is busy with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentPhase {
    /// The training runs.
    Training,
    /// The training was told to end and hasn't yet.
    Ending,
    /// The training has ended; its last files are on their way.
    FinalPush,
    /// All done; the exit report is written.
    Ended,
}

/// The training's first process, leader of its session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrainingProcess {
    pub process: ProcessRef,
    pub started_at: DateTime<Utc>,
    pub alive: bool,
}

/// What the training's processes together use.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Usage {
    pub processes: u32,
    /// 100 is one core; absent in the first sample.
    #[serde(default)]
    pub cpu_percent: Option<f64>,
    /// Resident memory, pages shared between the processes counted once for each.
    pub resident_bytes: u64,
}

/// One GPU as `nvidia-smi` sees it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GpuSample {
    pub index: u32,
    pub name: String,
    #[serde(default)]
    pub utilization_percent: Option<u32>,
    #[serde(default)]
    pub memory_used_bytes: Option<u64>,
    #[serde(default)]
    pub memory_total_bytes: Option<u64>,
}

/// The box's disk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Disk {
    /// What an unprivileged process may still write, of the file system the home is on.
    pub free_bytes: u64,
    pub total_bytes: u64,
    /// What the home holds; counted only when it has a limit.
    #[serde(default)]
    pub used_bytes: Option<u64>,
    #[serde(default)]
    pub limit_bytes: Option<u64>,
    /// The home holds more than its limit.
    #[serde(default)]
    pub over_limit: bool,
}

/// How the pushing stands.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PushState {
    /// Files that are due and not yet verified at the destination.
    pub pending: Vec<String>,
    /// The file that is being pushed.
    pub in_flight: Option<String>,
    pub last_success_at: Option<DateTime<Utc>>,
    /// Of the newest pass; gone when a pass succeeds.
    pub last_error: Option<PushError>,
    /// `epoch_N.pt` removed from the box after they were verified at the destination.
    pub pruned: Vec<String>,
}

/// Why a push fails.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PushError {
    pub file: String,
    pub message: String,
    pub at: DateTime<Utc>,
    /// Failed passes in a row.
    pub failures: u32,
    pub retry_at: Option<DateTime<Utc>>,
}
