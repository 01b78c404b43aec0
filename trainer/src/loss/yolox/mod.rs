//! The loss of YOLOX: optimal-transport assignment, then boxes, objectness and classes.

mod assign;
mod detection;

pub use detection::YoloxLoss;

#[cfg(test)]
mod tests;
