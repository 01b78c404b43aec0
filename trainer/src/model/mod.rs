//! The networks: YOLO9 (t, s, m, c) and what every family shares.
//!
//! Every path segment equals PyTorch's, so that a state dict of one fits the other; names, widths and defaults are
//! LibreYOLO 1.6.0's.

mod conv;
mod family;
mod grid;
mod network;
mod state;
mod variables;
mod yolo9;

pub use family::{Architecture, Family, ParseArchitectureError};
pub use grid::{AnchorGrid, STRIDES};
pub use network::{HeadOutputs, Network, NetworkConfig};
pub use state::{LoadError, LoadReport, ShapeMismatch};
pub use variables::{Group, Parameter};
pub(crate) use yolo9::expected_distance;
pub use yolo9::{REG_MAX, Yolo9Config, Yolo9Size};
