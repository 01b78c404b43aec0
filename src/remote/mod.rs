//! Acting inside a box: running commands there, putting files there, installing the engine and proving that it works.
//!
//! Paths on a box are relative to its home unless absolute. What is installed:
//!
//! ```text
//! ~/gpurun/bin/gpurun         this very program, or its twin from a bundle, for `gpurun agent`
//! ~/gpurun/bin/gpurun-train   the training core, and ~/gpurun/libtorch/lib for it
//! ~/gpurun/venv               libreyolo, with ~/gpurun/bin/libreyolo pointing into it; or torch, for its libtorch
//! ~/gpurun/install.log        what installing said
//! ```
//!
//! Everything here may be interrupted anywhere and run again.

mod bootstrap;
mod command;
mod connections;
mod local;
mod proof;
mod ssh;
mod transport;

pub(crate) use bootstrap::{bring_agent, can_install, install};
pub(crate) use command::{Command, Output, RemoteError};
pub(crate) use connections::{Connections, WayIn};
pub(crate) use proof::{Examined, examine, prove};
pub(crate) use transport::Remote;
