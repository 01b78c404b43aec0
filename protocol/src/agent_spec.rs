//! `agent.json`: what the agent on a box is to run, watch and push.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The `schema_version` of every file the agent reads or writes.
pub const SCHEMA_VERSION: u32 = 1;

/// One `agent.json`. Paths are relative to the box's home unless absolute.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentSpec {
    pub schema_version: u32,
    /// The run's id in the ledger. With `attempt` it names one training process, for ever.
    pub run_id: String,
    /// Names the run's folder at the destination.
    pub run_name: String,
    /// Counts the launches of this run, resumed ones included. Starting the same attempt twice runs it once.
    pub attempt: u32,
    /// The training command; `argv[0]` is looked up on the box's `PATH`.
    pub argv: Vec<String>,
    /// Added to the agent's own environment.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Where the command starts; the home when empty.
    #[serde(default)]
    pub working_dir: String,
    /// Where the command writes `status.json`, `metrics.jsonl` and `weights/`.
    pub run_dir: String,
    /// Seconds between two heartbeats.
    #[serde(default = "default_heartbeat_seconds")]
    pub heartbeat_seconds: u32,
    /// Seconds between SIGTERM and SIGKILL when the agent itself is told to end by a signal.
    #[serde(default = "default_grace_seconds")]
    pub grace_seconds: u32,
    /// Nothing is pushed when absent.
    #[serde(default)]
    pub push: Option<PushSpec>,
    /// What the home may hold, in bytes.
    #[serde(default)]
    pub disk_limit_bytes: Option<u64>,
}

/// Which files leave the box, when, and whereto.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PushSpec {
    /// The destination: a directory. The run's files go into a folder of the run's name below it.
    pub to: String,
    /// File name patterns (`*` and `?`), matched in the run directory and in its `weights` folder.
    #[serde(default = "default_files")]
    pub files: Vec<String>,
    /// Push the first `best.pt`.
    pub first_best: bool,
    /// Push each new `best.pt`.
    pub each_best: bool,
    /// Push each `epoch_N.pt`.
    pub epochs: bool,
    /// Push `last.pt` when this many minutes have passed since the last such push.
    #[serde(default)]
    pub every_minutes: Option<u32>,
    /// Push everything that matches when the training has ended.
    pub at_end: bool,
    /// Keep this many of the newest `epoch_N.pt` on the box and remove older ones once they are verified
    /// at the destination. Nothing is removed when absent.
    #[serde(default)]
    pub keep_epochs: Option<u32>,
}

impl PushSpec {
    /// Every milestone of LibreYOLO's checkpoint files.
    pub fn every_milestone(to: impl Into<String>) -> PushSpec {
        PushSpec {
            to: to.into(),
            files: default_files(),
            first_best: true,
            each_best: true,
            epochs: true,
            every_minutes: None,
            at_end: true,
            keep_epochs: None,
        }
    }
}

fn default_heartbeat_seconds() -> u32 {
    5
}

fn default_grace_seconds() -> u32 {
    10
}

fn default_files() -> Vec<String> {
    vec!["*.pt".to_owned()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_spec_gets_the_defaults() {
        let spec: AgentSpec = serde_json::from_str(
            r#"{"schema_version":1,"run_id":"3f","run_name":"yolo","attempt":1,"argv":["true"],"run_dir":"runs/yolo",
                "push":{"to":"/weights","first_best":true,"each_best":true,"epochs":false,"at_end":true}}"#,
        )
        .unwrap();
        assert_eq!(spec.heartbeat_seconds, 5);
        assert_eq!(spec.grace_seconds, 10);
        let push = spec.push.unwrap();
        assert_eq!(push.files, ["*.pt"]);
        assert_eq!((push.every_minutes, push.keep_epochs), (None, None));
    }
}
