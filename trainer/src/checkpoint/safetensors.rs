//! Weights from safetensors files.

use std::path::Path;

use tch::Tensor;

use super::error::{CheckpointError, Problem};
use super::tensor::StateDict;

/// Reads all tensors of a `.safetensors` file, on the CPU, sorted by name.
///
/// # Errors
/// When the file can't be read, is damaged, or holds a kind of tensor libtorch lacks.
pub fn read_safetensors(path: &Path) -> Result<StateDict, CheckpointError> {
    // libtorch's bindings give no I/O error kind of their own, so the file is tried first.
    std::fs::File::open(path).map_err(|e| Problem::Io(e).at(path))?;
    let mut tensors =
        Tensor::read_safetensors(path).map_err(|e| Problem::damaged(e.to_string()).at(path))?;
    tensors.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(tensors)
}
