//! The loss of YOLO9: task-aligned assignment, then class, box and distance distribution.

mod assign;
mod boxes;
mod detection;

pub use detection::Yolo9Loss;

#[cfg(test)]
mod tests;
