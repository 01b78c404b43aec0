//! `status.json`: what a run is doing now.
//!
//! The file is small, replaced atomically, and meant for polling. Which keys are there depends on the
//! state (LibreYOLO 1.6.0 drops `current_epoch` and `eta_seconds` from a finished run, and nearly
//! everything from a failed one), so every field of [`Status`] is optional.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The `schema_version` this crate writes.
pub const SCHEMA_VERSION: u32 = 1;

/// One `status.json`.
///
/// `progress` and `completed_epochs` of LibreYOLO 1.6.0 are wrong after a resume and after a failure:
/// take the state from here and the epochs from the last row of `metrics.jsonl`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Status {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema_version: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<State>,
    /// The process that trains (rank 0's under several processes), not the one that launched it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model_family: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model_size: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// As the user gave it: may be relative to the trainer's working directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub save_dir: Option<String>,
    #[serde(
        skip_serializing_if = "Option::is_none",
        with = "crate::time::optional"
    )]
    pub started_at: Option<DateTime<Utc>>,
    #[serde(
        skip_serializing_if = "Option::is_none",
        with = "crate::time::optional"
    )]
    pub updated_at: Option<DateTime<Utc>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elapsed_seconds: Option<f64>,
    /// Finished share of the run, 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub progress: Option<f64>,

    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_epochs: Option<u32>,
    /// First epoch of this process, counted from 1; above 1 after a resume.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_epoch: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completed_epochs: Option<u32>,
    /// Running: the last finished epoch, counted from 1. Failed: the epoch that was in flight.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current_epoch: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub epoch_seconds: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mean_epoch_seconds: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub eta_seconds: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_seconds: Option<f64>,

    /// Steps done in the epoch in flight (gpurun-train only).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<u64>,
    /// Steps of one epoch (gpurun-train only).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steps_per_epoch: Option<u64>,
    /// Training throughput of the epoch in flight (gpurun-train only).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub images_per_second: Option<f64>,
    /// Parts that a batch is taken in, since it didn't fit the memory whole (gpurun-train only).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub batch_parts: Option<u64>,

    #[serde(skip_serializing_if = "Option::is_none")]
    pub train_loss: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub validated: Option<bool>,
    /// Without the `metrics/` prefix, `speed/` kept; empty when the last epoch was not validated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metrics: Option<BTreeMap<String, Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current_metric: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current_metric_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub best_metric: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub best_metric_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub best_epoch: Option<u32>,

    #[serde(skip_serializing_if = "Option::is_none")]
    pub checkpoints: Option<Checkpoints>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<RunError>,

    /// Keys this version does not know.
    #[serde(flatten)]
    pub unknown: BTreeMap<String, Value>,
}

/// What the run says of itself. A killed process leaves `Running` behind: liveness needs `pid` and the
/// age of `updated_at` too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    Running,
    Completed,
    Failed,
    /// A state of a later version.
    #[serde(other)]
    Unknown,
}

/// Paths of the weights, as the trainer writes them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Checkpoints {
    pub best: Option<String>,
    pub last: Option<String>,
}

/// Why a run failed. LibreYOLO puts whole tracebacks into `message`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunError {
    pub message: String,
    #[serde(rename = "type")]
    pub kind: String,
}

impl Status {
    /// Reads one `status.json`.
    ///
    /// # Errors
    /// When the bytes are not one JSON object with these fields' types.
    pub fn from_json(bytes: &[u8]) -> serde_json::Result<Status> {
        serde_json::from_slice(bytes)
    }

    /// The file's content: sorted keys, indented by two, a newline at the end.
    ///
    /// Keys that readers index without asking are always there for the state, as null when unknown.
    ///
    /// # Errors
    /// Never for a value built in memory; the signature is serde's.
    pub fn to_json(&self) -> serde_json::Result<String> {
        let Value::Object(fields) = serde_json::to_value(self)? else {
            unreachable!("a struct serialises as an object");
        };
        let mut record: BTreeMap<String, Value> = fields.into_iter().collect();
        for key in self.promised_keys() {
            record.entry((*key).to_owned()).or_insert(Value::Null);
        }
        Ok(serde_json::to_string_pretty(&record)? + "\n")
    }

    /// A metric of the last validated epoch, by its short name, such as `mAP50-95`.
    pub fn metric(&self, name: &str) -> Option<f64> {
        self.metrics.as_ref()?.get(name)?.as_f64()
    }

    fn promised_keys(&self) -> &'static [&'static str] {
        match self.state {
            Some(State::Running) => &[
                "best_epoch",
                "best_metric",
                "best_metric_name",
                "current_epoch",
                "current_metric",
                "current_metric_name",
                "eta_seconds",
                "metrics",
            ],
            Some(State::Completed) => &["best_epoch", "best_metric"],
            Some(State::Failed) => &["current_epoch"],
            Some(State::Unknown) | None => &[],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_running_record_promises_its_keys() {
        let status = Status {
            state: Some(State::Running),
            ..Status::default()
        };
        let text = status.to_json().unwrap();
        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value["state"], "running");
        assert!(value.as_object().unwrap().contains_key("eta_seconds"));
        assert!(value["current_epoch"].is_null());
        assert!(text.ends_with("}\n"));
    }

    #[test]
    fn not_a_number_becomes_null() {
        let status = Status {
            train_loss: Some(f64::NAN),
            ..Status::default()
        };
        let value: Value = serde_json::from_str(&status.to_json().unwrap()).unwrap();
        assert_eq!(value.get("train_loss"), Some(&Value::Null));
    }

    #[test]
    fn a_later_version_still_reads() {
        let status =
            Status::from_json(br#"{"schema_version":7,"state":"paused","queue":{"place":3}}"#)
                .unwrap();
        assert_eq!(status.state, Some(State::Unknown));
        assert_eq!(status.unknown["queue"]["place"], 3);
    }

    #[test]
    fn a_torn_file_is_an_error() {
        assert!(Status::from_json(br#"{"state": "runn"#).is_err());
    }
}
