//! One training on several processes: who takes part, how they sum, and who starts and ends them.
//!
//! Every process holds the whole network and trains on its share of each batch. Sums over all processes
//! make that the same as one process with the whole batch: batch statistics and the loss's normaliser in
//! the forward pass, gradients after the backward pass.

mod collective;
mod error;
mod group;
mod launch;
mod nccl;
mod world;

pub use crate::shim::SyncGroup;
pub use collective::Collective;
pub use error::DistError;
pub use group::Group;
#[cfg(test)]
pub(crate) use group::tests::together;
pub use launch::{Failure, Workers, die_with_parent, launch, note_error, note_run_dir};
pub use world::{Member, Shard, world_of_environment};
