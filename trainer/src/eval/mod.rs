//! From the network's predictions to detections, and from detections to the COCO figures.
//!
//! The evaluation is that of pycocotools on boxes, figure by figure; the conventions around it (what is a
//! candidate, how many detections count, what a metric's name means) are LibreYOLO's. No tensors: predictions
//! come in as a plain slice.

mod best_confidence;
mod coco;
mod curve;
mod detection;
mod matching;
mod metrics;
mod nms;

pub use coco::{CocoSummary, evaluate};
pub use detection::{Detection, GroundTruth};
pub use metrics::metrics;
pub use nms::{Labels, NmsConfig, suppress};
