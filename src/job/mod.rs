//! The job: what a person wants done, from a TOML file, from flags, or from both.
//!
//! [`keys`] names every key once; the file reader, the flags and the reference in
//! `docs/job-file.md` are all made from that table. A value keeps where it was written, so that an
//! error found late (a path that isn't there, a batch that the GPUs can't share) still points at
//! its line.
//!
//! Reading and resolving are pure; only [`find`] and [`check`] touch the file system.

mod check;
mod file;
mod find;
mod flags;
mod keys;
mod layer;
mod networks;
mod place;
mod quantity;
mod resolve;
mod spec;
mod train;
mod work_place;

pub(crate) use check::Job;
pub(crate) use find::load;
pub(crate) use flags::JobArgs;
pub(crate) use networks::checkpoint_megabytes;
pub(crate) use quantity::{Unreadable, duration, gigabytes, money};
pub(crate) use resolve::{Resolved, StagedData, resolve};
pub(crate) use spec::{Defaults, JobSpec, POLICIES, hours, providers};
pub(crate) use train::Train;
pub(crate) use work_place::WorkPlace;

#[cfg(test)]
mod tests;
