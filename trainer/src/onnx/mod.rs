//! The network as an ONNX file, with LibreYOLO's input, output and metadata.

mod export;
mod graph;
mod proto;

pub use export::{ExportConfig, ExportReport, export};
pub(crate) use graph::{Convolution, Graph, Layer, Pool, Value};
