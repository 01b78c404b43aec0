//! COCO figures of a network on a split.

use std::time::Instant;

use gpurun_dataset::{DataConfig, SplitData};
use tch::{Device, Kind, Tensor};

use super::error::TrainError;
use super::learner::loader_threads;
use super::step::to_input;
use crate::config::TrainConfig;
use crate::data::{Loader, LoaderConfig, Padding};
use crate::eval::{Detection, GroundTruth, Labels, NmsConfig, evaluate, metrics, suppress};
use crate::model::{Family, Network};
use crate::signal::Signals;

/// Detections per image and class that COCO counts.
const COCO_MAX_DETECTIONS: usize = 100;

/// A split and how it is measured.
pub(super) struct Validator {
    loader: Loader,
    classes: usize,
    nms: NmsConfig,
    /// A COCO file's boxes by image; none where labels say all there is.
    truths: Option<Vec<Vec<GroundTruth>>>,
}

/// How a split is read and measured.
#[derive(Debug, Clone, Copy)]
pub(super) struct ValidatorConfig {
    pub(super) imgsz: u32,
    pub(super) batch: u32,
    pub(super) threads: usize,
    pub(super) padding: Padding,
    pub(super) nms: NmsConfig,
}

/// The figures.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Validation {
    pub(super) map50: f64,
    pub(super) map50_95: f64,
    /// Under LibreYOLO's names, in its order: `metrics/*`, then `speed/*`.
    pub(super) metrics: Vec<(&'static str, f64)>,
}

impl ValidatorConfig {
    /// As validation during a training.
    pub(super) fn of_training(config: &TrainConfig, padding: Padding, device: Device) -> Self {
        ValidatorConfig {
            imgsz: config.imgsz,
            batch: config.batch,
            threads: loader_threads(config.workers, device, 1),
            padding,
            nms: NmsConfig {
                max_detections: config.max_det as usize,
                labels: labels_of(config.family),
                ..NmsConfig::default()
            },
        }
    }
}

impl Validator {
    pub(super) fn new(split: SplitData, data: &DataConfig, config: &ValidatorConfig) -> Self {
        let classes = data.names.len();
        let loader_config = LoaderConfig {
            threads: config.threads,
            padding: config.padding,
            ..LoaderConfig::eval(config.imgsz, config.batch as usize)
        };
        Validator {
            truths: coco_truths(&split),
            loader: Loader::new(split, classes, loader_config),
            classes,
            nms: config.nms,
        }
    }

    /// Images and label lines that were left out so far.
    pub(super) fn skipped(&self) -> usize {
        self.loader.skipped()
    }

    /// Measures the network; none when a signal came in between. `tick` is called after each batch.
    ///
    /// # Errors
    /// When an operation fails.
    pub(super) fn run(
        &self,
        model: &Network,
        signals: &Signals,
        mut tick: impl FnMut(),
    ) -> Result<Option<Validation>, TrainError> {
        let device = model.device();
        let mut clock = Clock::start();
        let mut truths: Vec<GroundTruth> = vec![];
        let mut detections: Vec<Detection> = vec![];
        for batch in self.loader.epoch(0) {
            if signals.stop().is_some() {
                return Ok(None);
            }
            let images = to_input(&batch, device, model.family().pixels())?;
            clock.preprocess += clock.lap();
            let predictions = to_floats(&model.forward_eval(&images))?;
            clock.inference += clock.lap();
            detections.extend(suppress(
                &predictions,
                self.classes,
                &batch.infos,
                &self.nms,
            ));
            for info in &batch.infos {
                match &self.truths {
                    Some(images) => truths.extend_from_slice(&images[info.image_id]),
                    None => {
                        let labels = self.loader.labels(info.image_id);
                        truths.extend(GroundTruth::of_labels(info.image_id, labels, info.original));
                    }
                }
            }
            clock.postprocess += clock.lap();
            clock.images += batch.len();
            tick();
        }
        for skip in self.loader.take_skips() {
            tracing::warn!("left out: {skip}");
        }
        let speed = clock.figures();
        let summary = evaluate(&truths, &detections, COCO_MAX_DETECTIONS);
        let mut metrics = metrics(&summary);
        metrics.extend(speed);
        Ok(Some(Validation {
            map50: summary.ap50,
            map50_95: summary.ap,
            metrics,
        }))
    }
}

/// What a COCO file has of each image, with crowds and with the areas of outlines.
fn coco_truths(split: &SplitData) -> Option<Vec<Vec<GroundTruth>>> {
    let of_image = |(image_id, sample)| {
        let boxes = split.annotations.coco_boxes(sample)?;
        let truths = boxes
            .iter()
            .map(|found| GroundTruth::of_coco(image_id, found));
        Some(truths.collect())
    };
    split.samples.iter().enumerate().map(of_image).collect()
}

/// As LibreYOLO counts the classes of a box.
pub(super) fn labels_of(family: Family) -> Labels {
    match family {
        Family::Yolo9 => Labels::All,
        Family::Yolox => Labels::Best,
    }
}

fn to_floats(predictions: &Tensor) -> Result<Vec<f32>, TrainError> {
    let flat = predictions
        .f_to_kind(Kind::Float)?
        .f_to_device(Device::Cpu)?
        .f_contiguous()?
        .f_flatten(0, -1)?;
    Ok(Vec::<f32>::try_from(flat)?)
}

/// Seconds by phase.
struct Clock {
    start: Instant,
    last: Instant,
    preprocess: f64,
    inference: f64,
    postprocess: f64,
    images: usize,
}

impl Clock {
    fn start() -> Clock {
        let now = Instant::now();
        Clock {
            start: now,
            last: now,
            preprocess: 0.0,
            inference: 0.0,
            postprocess: 0.0,
            images: 0,
        }
    }

    fn lap(&mut self) -> f64 {
        let seconds = self.last.elapsed().as_secs_f64();
        self.last = Instant::now();
        seconds
    }

    /// Per image in milliseconds, as LibreYOLO names them.
    fn figures(&self) -> [(&'static str, f64); 6] {
        let total = self.start.elapsed().as_secs_f64();
        let per_image = |seconds: f64| seconds / self.images.max(1) as f64 * 1e3;
        [
            ("speed/preprocess_ms", per_image(self.preprocess)),
            ("speed/inference_ms", per_image(self.inference)),
            ("speed/postprocess_ms", per_image(self.postprocess)),
            ("speed/total_ms", per_image(total)),
            ("speed/total_s", total),
            ("speed/images_seen", self.images as f64),
        ]
    }
}
