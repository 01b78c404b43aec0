//! The files a training run and its box leave for readers: serde types only, no I/O.
//!
//! The run directory's forms are LibreYOLO's, so that either program's files serve the other's readers.

pub mod metrics;
pub mod status;
pub mod summary;
mod time;
