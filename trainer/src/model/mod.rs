//! YOLO9 (YOLOv9 as LibreYOLO builds it), sizes t, s, m and c.
//!
//! Every path segment equals PyTorch's, so that a state dict of one fits the other. Sources: the
//! paper (Wang, Yeh, Liao: "YOLOv9: Learning What You Want to Learn Using Programmable Gradient
//! Information", 2024) for the design, LibreYOLO 1.6.0 for names and widths.

mod backbone;
mod blocks;
mod conv;
mod grid;
mod head;
mod neck;
mod size;
mod state;
mod variables;
mod yolo9;

pub use grid::{AnchorGrid, STRIDES};
pub use head::REG_MAX;
pub(crate) use head::expected_distance;
pub use size::{ParseSizeError, Size};
pub use state::{LoadError, LoadReport, ShapeMismatch};
pub use variables::{Group, Parameter};
pub use yolo9::{HeadOutputs, Yolo9, Yolo9Config};

#[cfg(test)]
mod tests;
