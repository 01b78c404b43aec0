//! Where checkpoints go: one contract, one file or folder per kind of destination.

mod contract;
mod digest;
mod directory;
mod names;
mod open;
mod pull;
mod s3;

pub(crate) use contract::{Object, Sink, SinkError, Stored};
pub(crate) use digest::Digest;
pub(crate) use directory::Directory;
pub(crate) use open::{Keys, fetch, is_store, of_run, probe};
pub(crate) use pull::{Pulled, best_weights, check, pull};
