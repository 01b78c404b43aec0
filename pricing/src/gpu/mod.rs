//! GPU names: what a person asks for, what vendors call it, and which of the two are the same.

mod card;
mod cuda;
mod model;
mod request;

pub use cuda::{CudaVersion, CudaVersionError};
pub use model::{FormFactor, GpuModel, MODELS};
pub use request::{GpuError, GpuRequest, GpuSelection};
