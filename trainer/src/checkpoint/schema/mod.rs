//! LibreYOLO's checkpoint, schema "1.0": which keys, and what they mean.

mod read;
mod write;

use super::tensor::StateDict;
use crate::config::Setting;
use crate::optim::OptimizerState;
use crate::train::Scaler;

/// A whole checkpoint in memory.
#[derive(Debug)]
pub struct Checkpoint {
    pub metadata: Metadata,
    /// The weights to use: the moving average where there is one.
    pub model: StateDict,
    /// None in files that only hold weights.
    pub training: Option<TrainingState>,
}

/// What a model is; the nine keys every loader demands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Metadata {
    /// Such as `yolo9`.
    pub model_family: String,
    /// Such as `t`.
    pub size: String,
    /// `detect`.
    pub task: String,
    /// One name per class.
    pub names: Vec<String>,
    /// Side of the canvas in pixels.
    pub imgsz: u32,
    /// Where letterboxing puts the image: `topleft` or `center`.
    pub letterbox_pad: String,
}

/// What going on with a training needs.
#[derive(Debug)]
pub struct TrainingState {
    /// Epochs done; the file's `epoch` is one less, the last finished one counted from 0.
    pub finished_epochs: u32,
    /// Where the next epoch was interrupted; other readers begin that epoch anew.
    pub position: Option<Position>,
    /// The last finished epoch's line of metrics.jsonl, which a process killed between the two files did
    /// not write; other readers pass over it.
    pub row: Option<String>,
    /// Mean loss of the last finished epoch.
    pub loss: f64,
    pub best: Best,
    /// The record of `config::record`.
    pub config: Vec<(String, Setting)>,
    /// The weights the optimizer works on, without averaging.
    pub train_model: StateDict,
    /// Updates of the moving average so far; none when the run keeps no average.
    pub ema_updates: Option<i64>,
    pub optimizer: Option<OptimizerState>,
    /// Of mixed precision in 16-bit floats.
    pub scaler: Option<Scaler>,
}

/// The best validation so far.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Best {
    pub map50_95: f64,
    pub map50: f64,
    /// Counted from 1; 0 before the first validation.
    pub epoch: u32,
}

/// A place within an epoch.
#[derive(Debug, Clone, PartialEq)]
pub struct Position {
    /// Steps done.
    pub step: u64,
    /// Number of the batch that comes next; more than `step` when a batch had no usable image.
    pub batch: u64,
    /// Over these steps: total loss, then its parts in the family's order.
    pub loss_sums: Vec<f64>,
}
