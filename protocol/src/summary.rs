//! `summary.json`: written once, when a run ends normally.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::status::Checkpoints;

/// One `summary.json`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Summary {
    pub total_epochs: Option<u32>,
    /// Epochs of the whole run, earlier processes included.
    pub completed_epochs: Option<u32>,
    /// Epochs of the process that wrote this.
    pub invocation_completed_epochs: Option<u32>,
    /// The epochs `results.csv` holds, counted from 1.
    pub logged_epochs: Vec<u32>,
    pub model_family: Option<String>,
    pub model_size: Option<String>,
    pub task: Option<String>,
    pub save_dir: Option<String>,
    pub final_loss: Option<f64>,
    pub best_metric: Option<f64>,
    pub best_epoch: Option<u32>,
    pub total_seconds: Option<f64>,
    pub checkpoints: Checkpoints,
    /// `current_invocation`: the lists of `results` cover only the process that wrote them.
    pub results_scope: Option<String>,
    /// Images and label lines that couldn't be used (gpurun-train only).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left_out: Option<u64>,
    pub results: Results,
    /// Keys this version does not know.
    #[serde(flatten)]
    pub unknown: BTreeMap<String, Value>,
}

/// The outcome in detail; each list has one entry per epoch of this process.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Results {
    pub final_loss: Option<f64>,
    pub epoch_losses: Vec<Option<f64>>,
    /// By parameter group: `group0` batch-norm weights, `group1` convolution weights, `group2` biases.
    pub epoch_lrs: Vec<BTreeMap<String, Value>>,
    /// `box`, `cls` and `dfl`, weighted as they enter the total.
    pub epoch_loss_items: Vec<BTreeMap<String, Value>>,
    /// Empty for an epoch that was not validated.
    pub val_metrics: Vec<BTreeMap<String, Value>>,
    pub epoch_metrics: Vec<EpochEvent>,
    #[serde(rename = "best_mAP50")]
    pub best_map50: Option<f64>,
    #[serde(rename = "best_mAP50_95")]
    pub best_map50_95: Option<f64>,
    pub best_epoch: Option<u32>,
    pub save_dir: Option<String>,
    pub best_checkpoint: Option<String>,
    pub last_checkpoint: Option<String>,
    pub average_checkpoint: Option<String>,
    pub average_metrics: Option<Value>,
    #[serde(flatten)]
    pub unknown: BTreeMap<String, Value>,
}

/// One finished epoch, whole.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct EpochEvent {
    pub epoch: u32,
    pub total_epochs: Option<u32>,
    pub model_family: Option<String>,
    pub model_size: Option<String>,
    pub task: Option<String>,
    pub save_dir: Option<String>,
    pub train_loss: Option<f64>,
    pub train_loss_items: BTreeMap<String, Value>,
    pub lr: BTreeMap<String, Value>,
    pub val_metrics: BTreeMap<String, Value>,
    pub validated: bool,
    pub is_best: bool,
    pub current_metric: Option<f64>,
    pub current_metric_name: Option<String>,
    pub best_metric: Option<f64>,
    pub best_metric_name: Option<String>,
    pub best_epoch: Option<u32>,
    pub epoch_seconds: Option<f64>,
    #[serde(flatten)]
    pub unknown: BTreeMap<String, Value>,
}

impl Summary {
    /// Reads one `summary.json`.
    ///
    /// # Errors
    /// When the bytes are not one JSON object with these fields' types.
    pub fn from_json(bytes: &[u8]) -> serde_json::Result<Summary> {
        serde_json::from_slice(bytes)
    }

    /// The file's content: keys sorted at every level, indented by two, a newline at the end.
    ///
    /// # Errors
    /// Never for a value built in memory; the signature is serde's.
    pub fn to_json(&self) -> serde_json::Result<String> {
        let mut value = serde_json::to_value(self)?;
        value.sort_all_objects();
        Ok(serde_json::to_string_pretty(&value)? + "\n")
    }
}
