//! From the file's values to a checkpoint.

use std::collections::BTreeMap;
use std::path::Path;

use super::super::archive::Archive;
use super::super::error::{CheckpointError, Problem};
use super::super::limits::Limits;
use super::super::tensor::{load_tensor, state_dict};
use super::super::value::{Key, TensorRef, Value};
use super::{Best, Checkpoint, Metadata, Position, TrainingState};
use crate::config::Setting;
use crate::optim::{GroupState, Memory, Method, OptimizerState};
use crate::train::Scaler;
use tch::Tensor;

type Fields = Value<TensorRef>;
type Result<T> = std::result::Result<T, Problem>;

impl Checkpoint {
    /// Reads a checkpoint of LibreYOLO or of this crate.
    ///
    /// # Errors
    /// When the file can't be read ([`Archive::open`]), or lacks a required key.
    pub fn read(path: &Path) -> std::result::Result<Checkpoint, CheckpointError> {
        let (mut archive, fields) = Archive::open(path, Limits::default())?;
        read(&mut archive, &fields).map_err(|problem| problem.at(path))
    }

    /// Reads only what the model is, no tensor.
    ///
    /// # Errors
    /// As [`Checkpoint::read`].
    pub fn read_metadata(path: &Path) -> std::result::Result<Metadata, CheckpointError> {
        let (_, fields) = Archive::open(path, Limits::default())?;
        metadata(&fields).map_err(|problem| problem.at(path))
    }

    /// The settings that a file was trained with, as [`TrainingState::config`] has them, and nothing of its tensors; empty where it has none.
    ///
    /// # Errors
    /// As [`Checkpoint::read`].
    pub fn read_settings(
        path: &Path,
    ) -> std::result::Result<Vec<(String, Setting)>, CheckpointError> {
        let (_, fields) = Archive::open(path, Limits::default())?;
        Ok(config(&fields))
    }
}

fn read(archive: &mut Archive, fields: &Fields) -> Result<Checkpoint> {
    let metadata = metadata(fields)?;
    let model = state_dict(archive, required(fields, "model")?)?;
    let training = match fields.get("epoch") {
        Some(_) => Some(training(archive, fields)?),
        None => None,
    };
    Ok(Checkpoint {
        metadata,
        model,
        training,
    })
}

fn metadata(fields: &Fields) -> Result<Metadata> {
    let version = text(fields, "schema_version")?;
    if version != "1.0" {
        return Err(Problem::Schema(format!(
            "schema_version {version} is unknown; this reader knows 1.0"
        )));
    }
    let classes = usize::try_from(integer(fields, "nc")?)
        .ok()
        .filter(|classes| (1..=100_000).contains(classes))
        .ok_or_else(|| wrong("nc", "a positive integer"))?;
    let names = required(fields, "names")?
        .as_dict()
        .ok_or_else(|| wrong("names", "a dict"))?;
    let names = (0..classes)
        .map(|id| {
            names
                .get(&Key::Int(id as i64))
                .or_else(|| names.get(&Key::Text(id.to_string())))
                .and_then(Value::as_text)
                .map(str::to_owned)
                .ok_or_else(|| Problem::Schema(format!("names lacks class {id} of nc={classes}")))
        })
        .collect::<Result<_>>()?;
    Ok(Metadata {
        model_family: text(fields, "model_family")?,
        size: text(fields, "size")?,
        task: text(fields, "task")?,
        names,
        imgsz: u32::try_from(integer(fields, "imgsz")?)
            .ok()
            .filter(|side| (1..=65_536).contains(side))
            .ok_or_else(|| wrong("imgsz", "a size in pixels"))?,
        letterbox_pad: fields
            .get("letterbox_pad")
            .and_then(Value::as_text)
            .unwrap_or("topleft")
            .to_owned(),
    })
}

fn training(archive: &mut Archive, fields: &Fields) -> Result<TrainingState> {
    let finished_epochs = integer(fields, "epoch")?
        .checked_add(1)
        .and_then(|epochs| u32::try_from(epochs).ok())
        .ok_or_else(|| wrong("epoch", "an epoch's number"))?;
    let train_model = state_dict(
        archive,
        fields
            .get("train_model")
            .map_or_else(|| required(fields, "model"), Ok)?,
    )?;
    Ok(TrainingState {
        finished_epochs,
        row: fields
            .get("gpurun_row")
            .and_then(Value::as_text)
            .map(str::to_owned),
        position: fields.get("gpurun_position").map(position).transpose()?,
        loss: fields
            .get("loss")
            .and_then(Value::as_f64)
            .unwrap_or(f64::NAN),
        best: Best {
            map50_95: fields
                .get("best_metric_value")
                .or_else(|| fields.get("best_mAP50_95"))
                .and_then(Value::as_f64)
                .unwrap_or(0.0),
            map50: fields
                .get("best_mAP50")
                .and_then(Value::as_f64)
                .unwrap_or(0.0),
            epoch: fields
                .get("best_epoch")
                .and_then(Value::as_int)
                .and_then(|epoch| u32::try_from(epoch).ok())
                .unwrap_or(0),
        },
        config: config(fields),
        train_model,
        scaler: fields.get("scaler").and_then(scaler),
        ema_updates: fields.get("ema_updates").and_then(Value::as_int),
        optimizer: fields
            .get("optimizer")
            .map(|optimizer| read_optimizer(archive, optimizer))
            .transpose()?,
    })
}

fn config(fields: &Fields) -> Vec<(String, Setting)> {
    let Some(dict) = fields.get("config").and_then(Value::as_dict) else {
        return vec![];
    };
    dict.iter()
        .filter_map(|(key, value)| match key {
            Key::Text(key) => Some((key.clone(), setting(value)?)),
            Key::Int(_) => None,
        })
        .collect()
}

fn setting(value: &Fields) -> Option<Setting> {
    Some(match value {
        Value::None => Setting::Null,
        Value::Bool(bool) => Setting::Bool(*bool),
        Value::Int(int) => Setting::Int(*int),
        Value::Float(float) => Setting::Float(*float),
        Value::Text(text) => Setting::Text(text.clone()),
        Value::List(items) | Value::Tuple(items) => {
            match items.iter().map(Value::as_int).collect::<Option<_>>() {
                Some(ints) => Setting::Ints(ints),
                None => Setting::Floats(items.iter().map(Value::as_f64).collect::<Option<_>>()?),
            }
        }
        Value::Dict(_) | Value::Tensor(_) => return None,
    })
}

/// None for a scale that is no use: a fresh one takes its place.
fn scaler(fields: &Fields) -> Option<Scaler> {
    let scale = fields.get("scale")?.as_f64()?;
    let steady = fields.get("_growth_tracker")?.as_int()?;
    (scale.is_finite() && scale > 0.0).then_some(Scaler {
        scale,
        steady_steps: u32::try_from(steady).ok()?,
    })
}

fn position(fields: &Fields) -> Result<Position> {
    let count = |key| u64::try_from(integer(fields, key)?).map_err(|_| wrong(key, "a count"));
    let (step, batch) = (count("step")?, count("batch")?);
    let sums = required(fields, "loss_sums")?.as_list().unwrap_or_default();
    let sums: Option<Vec<f64>> = sums.iter().map(Value::as_f64).collect();
    let loss_sums = sums
        .filter(|sums| !sums.is_empty())
        .ok_or_else(|| wrong("loss_sums", "numbers"))?;
    Ok(Position {
        step,
        batch,
        loss_sums,
    })
}

fn read_optimizer(archive: &mut Archive, fields: &Fields) -> Result<OptimizerState> {
    let groups = required(fields, "param_groups")?
        .as_list()
        .ok_or_else(|| wrong("optimizer.param_groups", "a list"))?
        .iter()
        .map(group)
        .collect::<Result<Vec<_>>>()?;
    let state = required(fields, "state")?
        .as_dict()
        .ok_or_else(|| wrong("optimizer.state", "a dict"))?;
    let method = method(fields)?;
    let mut memory = BTreeMap::new();
    for (key, parameter) in state {
        let Key::Int(index) = key else {
            return Err(wrong("optimizer.state", "a dict of integers"));
        };
        let index =
            usize::try_from(*index).map_err(|_| wrong("optimizer.state", "a dict of integers"))?;
        if let Some(found) = read_memory(archive, method, parameter)? {
            memory.insert(index, found);
        }
    }
    Ok(OptimizerState {
        method,
        memory,
        groups,
    })
}

/// By what its groups are told to do: the state of a run without a step has nothing else.
fn method(fields: &Fields) -> Result<Method> {
    let first = required(fields, "param_groups")?
        .as_list()
        .and_then(|groups| groups.first());
    let Some(group) = first.filter(|group| group.get("betas").is_some()) else {
        return Ok(Method::Sgd);
    };
    let decoupled = group.get("decoupled_weight_decay").and_then(Value::as_bool);
    Ok(match decoupled {
        Some(true) => Method::AdamW,
        _ => Method::Adam,
    })
}

/// None for a parameter that had no step.
fn read_memory(
    archive: &mut Archive,
    method: Method,
    parameter: &Fields,
) -> Result<Option<Memory>> {
    let mut buffers = vec![];
    for name in method.buffers() {
        let Some(Value::Tensor(tensor)) = parameter.get(name) else {
            return Ok(None);
        };
        buffers.push(load_tensor(archive, tensor)?);
    }
    let step = match (method, parameter.get("step")) {
        (Method::Sgd, _) => None,
        (_, Some(Value::Tensor(step))) => Some(load_tensor(archive, step)?),
        (_, Some(number)) if number.as_f64().is_some() => {
            Some(Tensor::from(number.as_f64().unwrap_or_default() as f32))
        }
        _ => return Err(wrong("optimizer.state", "steps and averages")),
    };
    if step.as_ref().is_some_and(|step| step.numel() != 1) {
        return Err(wrong("optimizer.state", "steps of one number"));
    }
    let step = step.map(|step| step.reshape([0_i64; 0]));
    Ok(Some(Memory { buffers, step }))
}

fn group(fields: &Fields) -> Result<GroupState> {
    let parameters = required(fields, "params")?
        .as_list()
        .ok_or_else(|| wrong("optimizer.params", "a list"))?;
    Ok(GroupState {
        learning_rate: number(fields, "lr")?,
        momentum: fields
            .get("momentum")
            .and_then(Value::as_f64)
            .unwrap_or(0.0),
        weight_decay: number(fields, "weight_decay")?,
        nesterov: fields
            .get("nesterov")
            .and_then(Value::as_bool)
            .unwrap_or(false),
        parameters: parameters
            .iter()
            .map(|index| index.as_int().and_then(|index| usize::try_from(index).ok()))
            .collect::<Option<_>>()
            .ok_or_else(|| wrong("optimizer.params", "a list of integers"))?,
    })
}

fn required<'a>(fields: &'a Fields, key: &str) -> Result<&'a Fields> {
    fields.get(key).ok_or_else(|| {
        Problem::Schema(format!(
            "the checkpoint has no `{key}`: it is none of LibreYOLO's, or of an old version"
        ))
    })
}

fn text(fields: &Fields, key: &str) -> Result<String> {
    required(fields, key)?
        .as_text()
        .map(str::to_owned)
        .ok_or_else(|| wrong(key, "text"))
}

fn integer(fields: &Fields, key: &str) -> Result<i64> {
    required(fields, key)?
        .as_int()
        .ok_or_else(|| wrong(key, "an integer"))
}

fn number(fields: &Fields, key: &str) -> Result<f64> {
    required(fields, key)?
        .as_f64()
        .ok_or_else(|| wrong(key, "a number"))
}

fn wrong(key: &str, expected: &str) -> Problem {
    Problem::Schema(format!("`{key}` of the checkpoint is not {expected}"))
}
