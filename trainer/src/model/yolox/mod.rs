//! YOLOX, sizes n, t, s, m, l and x.
//!
//! The design is that of Ge et al.: "YOLOX: Exceeding YOLO Series in 2021", 2021.

mod blocks;
mod config;
mod darknet;
mod detector;
mod head;
mod neck;
mod size;

pub use config::YoloxConfig;
pub(super) use config::{STEM, depends_on_classes};
pub(super) use detector::Yolox;
pub(crate) use head::decode_boxes;
pub use size::YoloxSize;

#[cfg(test)]
mod tests;
