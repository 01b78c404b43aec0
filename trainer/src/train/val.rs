//! `gpurun-train val`: the figures of a weights file.

use std::collections::BTreeMap;
use std::fmt;

use gpurun_dataset::{ClassSelection, DataConfig, Split};
use serde::Serialize;

use super::device::{choose_device, limit_threads};
use super::error::TrainError;
use super::learner::{loader_threads, padding};
use super::restore::load_all;
use super::setup::{load_data, read_split};
use super::source::{Source, architecture, weights};
use super::validate::{Validator, ValidatorConfig, labels_of};
use crate::checkpoint::Checkpoint;
use crate::config::{Code, TrainConfig, ValConfig};
use crate::eval::NmsConfig;
use crate::model::{Network, NetworkConfig};
use crate::signal::{Signals, Stop};

/// Where weights without metadata are measured.
const DEFAULT_IMGSZ: u32 = 640;

/// What was measured.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ValReport {
    pub schema_version: u32,
    pub model: String,
    pub model_family: &'static str,
    pub data: String,
    pub split: String,
    pub imgsz: u32,
    /// `metrics/*` and `speed/*`, under LibreYOLO's names.
    pub metrics: BTreeMap<&'static str, f64>,
}

/// Measures a weights file on a split.
///
/// # Errors
/// For data, weights or a device that can't be used, and on a signal.
pub fn val(config: &ValConfig, signals: &Signals) -> Result<ValReport, TrainError> {
    let device = choose_device(&config.device)?;
    limit_threads(1);
    let data = load_data(&config.data, &selection(config)?)?;
    let split = split(&config.split);
    let split = read_split(&data, split)?;
    let Source::Weights {
        state,
        letterbox_pad,
    } = weights(&config.model)?
    else {
        return Err(TrainError::new(
            Code::ModelLoadFailed,
            "ValueError",
            "no weights",
        ));
    };
    let imgsz = config.imgsz.unwrap_or_else(|| trained_imgsz(config));
    let shape = architecture(&state)?;
    check_classes(&shape, &data)?;
    let model = Network::new(shape.for_inference(), device);
    load_all(&model, &state, "the weights")?;
    let nms = NmsConfig {
        confidence: config.conf as f32,
        iou: config.iou as f32,
        max_detections: config.max_det as usize,
        labels: labels_of(shape.family()),
        ..NmsConfig::default()
    };
    let validator = ValidatorConfig {
        imgsz,
        batch: config.batch,
        threads: loader_threads(config.workers, device, 1),
        padding: padding(&letterbox_pad),
        nms,
    };
    let validation = Validator::new(split, &data, &validator)
        .run(&model, signals, || ())?
        .ok_or_else(|| TrainError::from(signals.stop().unwrap_or(Stop::Terminated)))?;
    Ok(ValReport {
        schema_version: 1,
        model: config.model.display().to_string(),
        model_family: model.family().name(),
        data: config.data.display().to_string(),
        split: config.split.clone(),
        imgsz,
        metrics: validation.metrics.into_iter().collect(),
    })
}

fn split(name: &str) -> Split {
    Split::ALL
        .into_iter()
        .find(|split| split.as_str() == name)
        .unwrap_or(Split::Val)
}

fn trained_imgsz(config: &ValConfig) -> u32 {
    Checkpoint::read_metadata(&config.model).map_or(DEFAULT_IMGSZ, |metadata| {
        metadata.imgsz.next_multiple_of(32)
    })
}

/// What was typed; where nothing was, what the weights were trained with.
fn selection(config: &ValConfig) -> Result<ClassSelection, TrainError> {
    let mut trained = TrainConfig::default();
    let settings = Checkpoint::read_settings(&config.model).unwrap_or_default();
    let settings = settings
        .iter()
        .filter(|(key, _)| key == "single_cls" || key == "classes");
    trained.restore(settings.map(|(key, value)| (key.as_str(), value.to_string())))?;
    let ClassSelection { classes, single } = &config.selection;
    Ok(ClassSelection {
        classes: match classes.is_empty() {
            true => trained.selection.classes,
            false => classes.clone(),
        },
        single: *single || trained.selection.single,
    })
}

fn check_classes(shape: &NetworkConfig, data: &DataConfig) -> Result<(), TrainError> {
    if usize::try_from(shape.classes()) == Ok(data.names.len()) {
        return Ok(());
    }
    let message = format!(
        "the weights know {} classes, {} names {}",
        shape.classes(),
        data.file.display(),
        data.names.len()
    );
    Err(TrainError::new(Code::DataInvalid, "ValueError", message)
        .suggest("Give the dataset they were trained on"))
}

impl fmt::Display for ValReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, value) in self
            .metrics
            .iter()
            .filter(|(name, _)| !name.contains("(B)"))
        {
            writeln!(
                f,
                "{:<22} {value:.4}",
                name.strip_prefix("metrics/").unwrap_or(name)
            )?;
        }
        Ok(())
    }
}
