//! The files a training run and its box leave for readers: serde types only, no I/O.
//!
//! The run directory's forms are LibreYOLO's, so that either program's files serve the other's readers.
//! The agent's own files lie in the box's home, under `gpurun/`.

pub mod agent_spec;
pub mod bundle;
pub mod exit_report;
pub mod heartbeat;
pub mod manifest;
pub mod metrics;
pub mod proof;
pub mod report;
pub mod status;
pub mod summary;
mod time;
