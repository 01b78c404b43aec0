//! What training minimises: targets are assigned to anchors, then losses compare them.

mod items;
mod targets;
mod yolo9;
mod yolox;

pub use items::{Loss, LossItems};
pub use targets::pad_targets;
pub use yolo9::Yolo9Loss;
pub use yolox::YoloxLoss;
