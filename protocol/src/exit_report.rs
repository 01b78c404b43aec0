//! `exit.json`: how one attempt of a training ended.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::heartbeat::ProcessRef;

/// One `exit.json`: written when the training has ended, and again after the last push.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExitReport {
    pub schema_version: u32,
    pub run_id: String,
    pub attempt: u32,
    pub written_at: DateTime<Utc>,
    /// Absent when the command could not be started.
    #[serde(default)]
    pub training: Option<ProcessRef>,
    #[serde(default)]
    pub started_at: Option<DateTime<Utc>>,
    /// When the end was noticed.
    pub ended_at: DateTime<Utc>,
    pub end: End,
    /// Why the training was told to end, when it was.
    #[serde(default)]
    pub requested: Option<String>,
    /// Processes of the training that outlived its first one and were killed.
    #[serde(default)]
    pub strays: u32,
    /// Times the kernel killed a process of the box's memory group for want of memory during the training, where it counts that.
    #[serde(default)]
    pub out_of_memory_kills: Option<u64>,
    /// The last push is over: nothing more will leave the box by itself.
    #[serde(default)]
    pub push_finished: bool,
    /// Files that should have been pushed and weren't, or aren't yet.
    #[serde(default)]
    pub not_pushed: Vec<NotPushed>,
}

/// How the first process ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "how", rename_all = "snake_case")]
pub enum End {
    Exited {
        code: i32,
    },
    Signaled {
        /// Such as 9.
        signal: i32,
        /// Such as `SIGKILL`.
        name: String,
    },
    /// The command could not be started.
    NotStarted {
        message: String,
    },
    /// It is gone, and no agent was its parent at that moment: nobody knows its exit status.
    Unobserved,
}

/// One file that stayed behind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotPushed {
    pub file: String,
    pub why: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_reads_well_in_json() {
        let end = End::Signaled {
            signal: 9,
            name: "SIGKILL".to_owned(),
        };
        assert_eq!(
            serde_json::to_string(&end).unwrap(),
            r#"{"how":"signaled","signal":9,"name":"SIGKILL"}"#
        );
        assert_eq!(
            serde_json::to_string(&End::Unobserved).unwrap(),
            r#"{"how":"unobserved"}"#
        );
    }
}
