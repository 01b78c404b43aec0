//! What training minimises: targets are assigned to anchors, then three losses compare them.

mod assign;
mod boxes;
mod detection;
mod targets;

pub use detection::{DetectionLoss, LossItems};
pub use targets::pad_targets;

#[cfg(test)]
mod tests;
