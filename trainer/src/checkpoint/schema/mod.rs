//! LibreYOLO's checkpoint, schema "1.0": which keys, and what they mean.

mod read;
mod write;

use tch::Tensor;

use super::tensor::StateDict;
use crate::config::Setting;

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
    /// `yolo9`.
    pub model_family: String,
    /// `t`, `s`, `m` or `c`.
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
    /// The last finished epoch, counted from 0.
    pub epoch: u32,
    /// Mean loss of that epoch.
    pub loss: f64,
    pub best: Best,
    /// The record of `config::record`.
    pub config: Vec<(String, Setting)>,
    /// The weights the optimizer works on, without averaging.
    pub train_model: StateDict,
    /// Updates of the moving average so far; none when the run keeps no average.
    pub ema_updates: Option<i64>,
    pub optimizer: OptimizerState,
}

/// The best validation so far.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Best {
    pub map50_95: f64,
    pub map50: f64,
    /// Counted from 1; 0 before the first validation.
    pub epoch: u32,
}

/// SGD's state in the order of its parameter groups.
#[derive(Debug, Default)]
pub struct OptimizerState {
    pub groups: Vec<ParameterGroup>,
    /// Momentum of each parameter, over all groups; none before its first step.
    pub momentum: Vec<Option<Tensor>>,
}

/// One group of parameters that share their settings.
#[derive(Debug, Clone, PartialEq)]
pub struct ParameterGroup {
    pub lr: f64,
    pub momentum: f64,
    pub weight_decay: f64,
    pub nesterov: bool,
    /// How many parameters it holds.
    pub parameters: usize,
}
