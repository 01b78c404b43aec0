//! Where checkpoints go: one contract, one file per kind of destination.

mod contract;
mod digest;
mod directory;
mod pull;

pub(crate) use contract::{Object, Sink, SinkError, Stored};
pub(crate) use digest::Digest;
pub(crate) use directory::Directory;
pub(crate) use pull::{Pulled, best_weights, check, pull};
