//! The networks: YOLO9 (t, s, m, c), YOLOX (n, t, s, m, l, x), and what both share.
//!
//! Every path segment equals PyTorch's, so that a state dict of one fits the other; names, widths and defaults are
//! LibreYOLO 1.6.0's.

mod conv;
mod family;
mod grid;
mod merge;
mod network;
mod state;
mod variables;
mod yolo9;
mod yolox;

pub use family::{Architecture, Family, ParseArchitectureError, Pixels, is_weights_file};
pub use grid::{AnchorGrid, STRIDES};
pub use network::{HeadOutputs, Network, NetworkConfig};
pub use state::{LoadError, LoadReport, ShapeMismatch};
pub use variables::{Group, Parameter};
pub(crate) use yolo9::expected_distance;
pub use yolo9::{REG_MAX, Yolo9Config, Yolo9Size};
pub(crate) use yolox::decode_boxes;
pub use yolox::{YoloxConfig, YoloxSize};
