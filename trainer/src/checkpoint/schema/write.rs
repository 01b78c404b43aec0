//! From a checkpoint to the file's values.

use std::fs::File;
use std::io::{BufWriter, Write};

use tch::Tensor;

use super::super::archive;
use super::super::error::Problem;
use super::super::tensor::StateDict;
use super::super::value::{Dict, Key, Value};
use super::{Best, Checkpoint, Metadata, Position, TrainingState};
use crate::config::Setting;
use crate::optim::SgdState;

/// The metric that decides which epoch is best.
const BEST_METRIC: &str = "metrics/mAP50-95";

/// The LibreYOLO release whose form this is.
const LIBREYOLO_VERSION: &str = "1.6.0";

impl Checkpoint {
    /// Writes the file's bytes; making that atomic is the caller's part.
    ///
    /// # Errors
    /// When writing fails, or a tensor is of a kind no checkpoint holds.
    pub fn write(&self, file: &File) -> Result<(), Problem> {
        let out = archive::write(BufWriter::with_capacity(1 << 20, file), &self.to_value())?;
        let mut file = out
            .into_inner()
            .map_err(std::io::IntoInnerError::into_error)?;
        file.flush()?;
        Ok(())
    }

    fn to_value(&self) -> Value<Tensor> {
        let mut dict = Dict::new();
        let mut set = |key: &str, value: Value<Tensor>| drop(dict.insert(Key::from(key), value));
        let Metadata {
            model_family,
            size,
            task,
            names,
            imgsz,
            letterbox_pad,
        } = &self.metadata;
        set("model", tensors(&self.model));
        set("schema_version", "1.0".into());
        set("libreyolo_version", LIBREYOLO_VERSION.into());
        set("model_family", model_family.as_str().into());
        set("size", size.as_str().into());
        set("task", task.as_str().into());
        set("nc", int(names.len()));
        let names = names
            .iter()
            .enumerate()
            .map(|(id, name)| (Key::Int(id as i64), name.as_str().into()));
        set("names", Value::Dict(names.collect()));
        set("imgsz", i64::from(*imgsz).into());
        set("letterbox_pad", letterbox_pad.as_str().into());
        if let Some(training) = &self.training {
            self.add_training(training, &mut set);
        }
        Value::Dict(dict)
    }

    fn add_training(&self, training: &TrainingState, set: &mut impl FnMut(&str, Value<Tensor>)) {
        let Best {
            map50_95,
            map50,
            epoch: best_epoch,
        } = training.best;
        set("epoch", (i64::from(training.finished_epochs) - 1).into());
        if let Some(state) = &training.optimizer {
            set("optimizer", optimizer(state));
        }
        if let Some(row) = &training.row {
            set("gpurun_row", row.as_str().into());
        }
        if let Some(within) = &training.position {
            set("gpurun_position", position(within));
        }
        let config = training
            .config
            .iter()
            .map(|(key, value)| (Key::from(key.as_str()), setting(value)));
        set("config", Value::Dict(config.collect()));
        set("loss", training.loss.into());
        set("best_mAP50_95", map50_95.into());
        set("best_mAP50", map50.into());
        set("best_metric_key", BEST_METRIC.into());
        set("best_metric_value", map50_95.into());
        set("best_metric", map50_95.into());
        set("best_metric_name", BEST_METRIC.into());
        set("best_epoch", i64::from(best_epoch).into());
        set("is_ema_weights", training.ema_updates.is_some().into());
        if let Some(updates) = training.ema_updates {
            set("train_model", tensors(&training.train_model));
            // The same tensors as `model`: the file holds their storages once.
            set("ema", tensors(&self.model));
            set("ema_updates", updates.into());
        }
    }
}

fn tensors(state: &StateDict) -> Value<Tensor> {
    Value::Dict(
        state
            .iter()
            .map(|(name, tensor)| {
                (
                    Key::from(name.as_str()),
                    Value::Tensor(tensor.shallow_clone()),
                )
            })
            .collect(),
    )
}

/// The `state_dict()` of `torch.optim.SGD`.
fn optimizer(optimizer: &SgdState) -> Value<Tensor> {
    let state = optimizer.momentum_buffers.iter().map(|(index, momentum)| {
        let buffer = Value::Tensor(momentum.shallow_clone());
        (
            Key::Int(*index as i64),
            Value::Dict(Dict::from([(Key::from("momentum_buffer"), buffer)])),
        )
    });
    let state = Value::Dict(state.collect());
    let groups = optimizer.groups.iter().map(|group| {
        Value::Dict(Dict::from([
            (Key::from("lr"), group.learning_rate.into()),
            (Key::from("momentum"), group.momentum.into()),
            (Key::from("dampening"), 0.into()),
            (Key::from("weight_decay"), group.weight_decay.into()),
            (Key::from("nesterov"), group.nesterov.into()),
            (Key::from("maximize"), false.into()),
            (Key::from("foreach"), Value::None),
            (Key::from("differentiable"), false.into()),
            (Key::from("fused"), Value::None),
            (
                Key::from("params"),
                Value::List(group.parameters.iter().copied().map(int).collect()),
            ),
        ]))
    });
    let groups = Value::List(groups.collect());
    Value::Dict(Dict::from([
        (Key::from("state"), state),
        (Key::from("param_groups"), groups),
    ]))
}

/// Under a key of our own, which LibreYOLO passes over.
fn position(position: &Position) -> Value<Tensor> {
    Value::Dict(Dict::from([
        (Key::from("step"), (position.step as i64).into()),
        (Key::from("batch"), (position.batch as i64).into()),
        (
            Key::from("loss_sums"),
            Value::List(position.loss_sums.iter().map(|sum| (*sum).into()).collect()),
        ),
    ]))
}

fn setting(setting: &Setting) -> Value<Tensor> {
    match setting {
        Setting::Null => Value::None,
        Setting::Bool(bool) => Value::Bool(*bool),
        Setting::Int(int) => Value::Int(*int),
        Setting::Float(float) => Value::Float(*float),
        Setting::Text(text) => Value::Text(text.clone()),
        Setting::Floats(floats) => {
            Value::List(floats.iter().map(|float| Value::Float(*float)).collect())
        }
    }
}

fn int(number: usize) -> Value<Tensor> {
    Value::Int(number as i64)
}
