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
use crate::optim::{Method, OptimizerState};
use crate::train::Scaler;

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
        if let Some(state) = &training.scaler {
            set("scaler", scaler(state));
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

/// The `state_dict()` of the optimizer of `torch.optim` with the method's name.
fn optimizer(optimizer: &OptimizerState) -> Value<Tensor> {
    let names = optimizer.method.buffers();
    let state = optimizer.memory.iter().map(|(index, memory)| {
        let step = memory.step.iter().map(|step| ("step", step));
        let buffers = names.iter().copied().zip(&memory.buffers);
        let entries = step
            .chain(buffers)
            .map(|(name, tensor)| (Key::from(name), Value::Tensor(tensor.shallow_clone())));
        (Key::Int(*index as i64), Value::Dict(entries.collect()))
    });
    let state = Value::Dict(state.collect());
    let groups = optimizer.groups.iter().map(|group| {
        let mut entries = vec![
            ("lr", group.learning_rate.into()),
            ("weight_decay", group.weight_decay.into()),
        ];
        entries.extend(match optimizer.method {
            Method::Sgd => vec![
                ("momentum", group.momentum.into()),
                ("dampening", 0.into()),
                ("nesterov", group.nesterov.into()),
            ],
            Method::Adam | Method::AdamW => vec![
                ("betas", Value::Tuple(vec![0.9.into(), 0.999.into()])),
                ("eps", 1e-8.into()),
                ("amsgrad", false.into()),
                ("capturable", false.into()),
                (
                    "decoupled_weight_decay",
                    (optimizer.method == Method::AdamW).into(),
                ),
            ],
        });
        let parameters = group.parameters.iter().copied().map(int).collect();
        entries.extend([
            ("maximize", false.into()),
            ("foreach", Value::None),
            ("differentiable", false.into()),
            ("fused", Value::None),
            ("params", Value::List(parameters)),
        ]);
        let entries = entries.into_iter();
        Value::Dict(
            entries
                .map(|(name, value)| (Key::from(name), value))
                .collect(),
        )
    });
    let groups = Value::List(groups.collect());
    Value::Dict(Dict::from([
        (Key::from("state"), state),
        (Key::from("param_groups"), groups),
    ]))
}

/// The `state_dict()` of `torch.amp.GradScaler`.
fn scaler(scaler: &Scaler) -> Value<Tensor> {
    Value::Dict(Dict::from([
        (Key::from("scale"), scaler.scale.into()),
        (Key::from("growth_factor"), 2.0.into()),
        (Key::from("backoff_factor"), 0.5.into()),
        (Key::from("growth_interval"), 2000.into()),
        (
            Key::from("_growth_tracker"),
            i64::from(scaler.steady_steps).into(),
        ),
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
        Setting::Ints(ints) => Value::List(ints.iter().map(|int| Value::Int(*int)).collect()),
    }
}

fn int(number: usize) -> Value<Tensor> {
    Value::Int(number as i64)
}
