//! What set-up does to a box, every argument resolved: nothing here is left to choose on the day.

use std::collections::BTreeMap;

use gpurun_pricing::HourlyRate;
use serde::{Deserialize, Serialize};

/// What trains on the box.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Engine {
    /// The companion binary `gpurun-train`.
    GpurunTrain,
    /// The Python package `libreyolo`.
    Libreyolo,
    /// Any command; judged by its process and exit code alone when it writes no `status.json`.
    Command,
}

/// What is put on the box before anything runs there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InstallSpec {
    pub engine: Engine,
    /// The engine's extras, for example `rfdetr` or `lora`; empty for most runs.
    pub extras: Vec<String>,
    /// The engine's version; `None` takes the one shipped beside this binary.
    pub version: Option<String>,
}

/// What must compute correctly before more money goes in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProveSpec {
    pub engine: Engine,
    /// A torch device in the job's words: `cpu`, `cuda`, `0`, `0,1,2,3`.
    pub device: String,
}

/// The data set's way to the box.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StageSpec {
    /// A directory or a `.tar` on this machine.
    pub source: String,
    pub bytes: u64,
    /// Hash over names and contents: the same fingerprint on the box means nothing has to move.
    pub fingerprint: String,
    /// Relative to the box's home.
    pub dest: String,
}

/// The training command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaunchSpec {
    pub argv: Vec<String>,
    pub env: BTreeMap<String, String>,
    /// Where it starts, relative to the box's home.
    #[serde(default)]
    pub working_dir: String,
    /// Where `status.json` and `weights/` appear, relative to the box's home.
    pub run_dir: String,
    /// The command that goes on from the last checkpoint; `None`: the engine can't, `argv` starts anew.
    pub resume_argv: Option<Vec<String>>,
}

/// Which files leave the box, when, and to where.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckpointSpec {
    /// Destination: a directory.
    pub to: String,
    /// Globs relative to the run directory, for example `weights/*.pt`.
    pub files: Vec<String>,
    pub first_best: bool,
    pub each_best: bool,
    /// Every `epoch_<N>.pt`.
    pub epochs: bool,
    pub every_minutes: Option<u32>,
    pub at_end: bool,
}

/// A disk that outlives the box, mounted in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VolumeSpec {
    /// The provider's own id.
    pub id: String,
    /// An absolute path in the box.
    pub path: String,
    /// What it cost when it was looked up; it is billed on its own, not with the box.
    #[serde(default)]
    pub rate: Option<HourlyRate>,
}
