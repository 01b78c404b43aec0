//! YOLO9 (YOLOv9 as LibreYOLO builds it), sizes t, s, m and c.
//!
//! The design is that of Wang, Yeh, Liao: "YOLOv9: Learning What You Want to Learn Using Programmable Gradient
//! Information", 2024.

mod backbone;
mod blocks;
mod config;
mod detector;
mod head;
mod neck;
mod size;

pub use config::Yolo9Config;
pub(super) use config::depends_on_classes;
pub(super) use detector::Yolo9;
pub use head::REG_MAX;
pub(crate) use head::expected_distance;
pub use size::Yolo9Size;

#[cfg(test)]
mod tests;
