//! COCO figures of a network.

use std::collections::BTreeMap;

use gpurun_dataset::{DataConfig, Sample};
use indexmap::IndexMap;
use serde::Serialize;

use super::error::TrainError;
use crate::config::{TrainConfig, ValConfig};
use crate::data::Padding;
use crate::model::Yolo9;

pub(super) struct Validator;
pub(super) struct Validation { pub(super) map50: f64, pub(super) map50_95: f64, pub(super) metrics: IndexMap<String, f64> }
#[derive(Serialize)]
pub struct ValReport { pub metrics: BTreeMap<String, f64> }
impl std::fmt::Display for ValReport { fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result { write!(f, "{:?}", self.metrics) } }
pub fn val(_: &ValConfig) -> Result<ValReport, TrainError> { Ok(ValReport { metrics: BTreeMap::new() }) }
impl Validator {
    pub(super) fn new(_c: &TrainConfig, _s: Vec<Sample>, _d: &DataConfig, _p: Padding) -> Self { Validator }
    pub(super) fn run(&self, _m: &Yolo9) -> Result<Validation, TrainError> { Ok(Validation { map50: 0.0, map50_95: 0.0, metrics: IndexMap::new() }) }
}
