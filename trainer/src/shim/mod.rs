//! Calls into libtorch that tch doesn't offer; the other half is `shim/*.cpp`.

pub(crate) mod device;
mod error;
mod optimizer;
mod process_group;
mod sync_batch_norm;

pub(crate) use device::abi_version;
pub use error::ShimError;
pub(crate) use optimizer::{
    FusedAdam, FusedSgd, clear_gradients, foreach_lerp, fused_adam, fused_sgd, unscale,
};
pub(crate) use process_group::{Interface, ProcessGroup, ProcessGroupConfig};
pub use sync_batch_norm::SyncGroup;
pub(crate) use sync_batch_norm::{SyncBatchNorm, sync_batch_norm};
