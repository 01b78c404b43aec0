//! A coarse map beside a finer one.

use tch::Tensor;

use crate::onnx::{Graph, Value};

/// Doubles the resolution of `deep` and puts `lateral` behind it.
pub(super) fn up_and_cat(deep: &Tensor, lateral: &Tensor) -> Tensor {
    let size = lateral.size();
    let up = deep.upsample_nearest2d([size[2], size[3]], None, None);
    Tensor::cat(&[&up, lateral], 1)
}

/// [`up_and_cat`] in a graph.
pub(super) fn export_up_and_cat(graph: &mut Graph, deep: &Value, lateral: &Value) -> Value {
    let up = graph.double_resolution(deep);
    graph.concatenate(&[&up, lateral], 1)
}
