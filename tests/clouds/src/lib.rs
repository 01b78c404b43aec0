//! Simulators of the GPU marketplaces, on their own wire, with real boxes.
//!
//! [`Cloud::start`] puts up one HTTP server for one [`Vendor`]; the [`Cloud`] is its address,
//! its key and a handle on the world behind it (clock, faults, bill, request log), which is also served under `/_sim/`.
//! The simulators price, bill and word their answers on their own: this crate depends on no other of the workspace,
//! so that a bill of theirs that equals ours says something.

// An offer is one JSON object of a hundred fields.
#![recursion_limit = "512"]

pub mod boxes;
mod core;
pub mod lambda;
mod relay;
pub mod runpod;
pub mod vast;
pub mod verda;

pub use crate::core::*;
pub use relay::Relay;
