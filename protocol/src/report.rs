//! The evidence: all that is known on a box about its training, as one document.
//!
//! `gpurun agent report` makes it from the files and the process table alone, so it is whole even when the
//! agent is dead. It holds facts and no verdict: `state: running` in `status.json` beside
//! `training.alive: false` is what a killed training looks like.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::exit_report::ExitReport;
use crate::heartbeat::{Disk, Heartbeat, ProcessRef};
use crate::manifest::Manifest;
use crate::metrics::{EpochRow, History};
use crate::status::Status;

/// The answer of `gpurun agent report`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BoxReport {
    pub schema_version: u32,
    /// When it was made, by the box's clock.
    pub at: DateTime<Utc>,
    /// Of the attempt `agent.json` names; absent when the box has none.
    #[serde(default)]
    pub run_id: Option<String>,
    #[serde(default)]
    pub attempt: Option<u32>,
    /// The agent that was last seen to write.
    #[serde(default)]
    pub agent: Option<Liveness>,
    /// The training's first process; absent when this attempt never started one.
    #[serde(default)]
    pub training: Option<Liveness>,
    #[serde(default)]
    pub training_started_at: Option<DateTime<Utc>>,
    #[serde(default)]
    pub heartbeat: Option<Heartbeat>,
    /// The run directory's `status.json`; it may be an earlier attempt's when older than
    /// `training_started_at`.
    #[serde(default)]
    pub status: Option<Status>,
    #[serde(default)]
    pub history: Option<HistoryView>,
    /// Of this attempt only.
    #[serde(default)]
    pub exit: Option<ExitReport>,
    #[serde(default)]
    pub manifest: Option<Manifest>,
    /// Files of the run directory and its `weights` folder.
    #[serde(default)]
    pub files: Vec<FileStamp>,
    /// When an epoch (or step) last showed in the files; the start when none has.
    #[serde(default)]
    pub last_progress_at: Option<DateTime<Utc>>,
    #[serde(default)]
    pub disk: Option<Disk>,
    /// The end of the training's standard error, for people.
    #[serde(default)]
    pub stderr_tail: String,
    /// Files that are there and could not be read, one line each.
    #[serde(default)]
    pub unreadable: Vec<String>,
}

/// A process and whether it is there now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Liveness {
    pub process: ProcessRef,
    pub alive: bool,
}

/// `metrics.jsonl` in short.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HistoryView {
    /// Distinct epochs.
    pub epochs: u32,
    pub last: EpochRow,
    /// Over the newest 20 epochs, validation included.
    #[serde(default)]
    pub mean_epoch_seconds: Option<f64>,
    /// Over the same epochs. Those with a validation take longer, and only some have one.
    #[serde(default)]
    pub longest_epoch_seconds: Option<f64>,
}

impl HistoryView {
    /// `None` while no epoch is finished.
    pub fn of(history: &History) -> Option<HistoryView> {
        const NEWEST: usize = 20;

        let last = history.rows.last()?.clone();
        let times: Vec<f64> = history
            .rows
            .iter()
            .rev()
            .take(NEWEST)
            .filter_map(|row| row.time)
            .collect();
        Some(HistoryView {
            epochs: u32::try_from(history.rows.len()).unwrap_or(u32::MAX),
            last,
            mean_epoch_seconds: (!times.is_empty())
                .then(|| times.iter().sum::<f64>() / times.len() as f64),
            longest_epoch_seconds: times.into_iter().reduce(f64::max),
        })
    }
}

/// One file on the box.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileStamp {
    /// Relative to the run directory, such as `weights/best.pt`.
    pub file: String,
    pub bytes: u64,
    pub modified_at: DateTime<Utc>,
    /// Whether it is whole: known only of formats that say so themselves (`.pt`, `.safetensors`).
    #[serde(default)]
    pub complete: Option<bool>,
    /// Whether the manifest holds this very version, verified.
    #[serde(default)]
    pub verified: bool,
}

/// The answer of `gpurun agent start`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StartReply {
    pub outcome: StartOutcome,
    pub report: BoxReport,
}

/// What `gpurun agent start` found or did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StartOutcome {
    Started,
    /// This attempt's training was running without an agent; it has one again.
    Adopted,
    /// This attempt's agent runs already.
    AlreadyRunning,
    /// This attempt has ended; nothing was started.
    AlreadyEnded,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_history_in_short_counts_an_epoch_once() {
        let rows =
            b"{\"epoch\":1,\"time\":9}\n{\"epoch\":2,\"time\":4}\n{\"epoch\":1,\"time\":2}\n{\"ep";
        let view = HistoryView::of(&crate::metrics::read(rows)).unwrap();
        assert_eq!((view.epochs, view.last.epoch), (2, 2));
        assert_eq!(view.mean_epoch_seconds, Some(3.0));
        assert_eq!(view.longest_epoch_seconds, Some(4.0));
        assert_eq!(HistoryView::of(&crate::metrics::read(b"")), None);
    }

    #[test]
    fn a_report_of_a_box_without_a_training_reads() {
        let report: BoxReport =
            serde_json::from_str(r#"{"schema_version":1,"at":"2026-12-01T03:00:00Z"}"#).unwrap();
        assert_eq!(report.training, None);
        let again: BoxReport =
            serde_json::from_str(&serde_json::to_string(&report).unwrap()).unwrap();
        assert_eq!(again, report);
    }
}
