//! PyTorch checkpoint files, read and written without Python.
//!
//! A `.pt` file is a zip of stored entries: a pickle that names tensors, and one entry per storage. The
//! reader treats the file as hostile: it runs nothing, knows a handful of globals and refuses the rest
//! by name, and bounds depth, sizes and counts. The writer makes what `torch.load(weights_only=True)`
//! and LibreYOLO's strict loader accept.

mod archive;
mod error;
mod limits;
mod pickle;
mod safetensors;
mod schema;
mod tensor;
#[cfg(test)]
mod tests;
mod unpickle;
mod value;

pub use archive::{Archive, write};
pub use error::{CheckpointError, Problem};
pub use limits::Limits;
pub use safetensors::read_safetensors;
pub use schema::{Best, Checkpoint, Metadata, Position, TrainingState};
pub use tensor::{StateDict, load_state_dict};
pub use value::{Dict, Key, ScalarKind, StorageRef, TensorRef, Value};
