//! Simulated vendors as worlds for the conformance suite.

mod sim;
mod vast;

pub(crate) use sim::{SimTime, strict};
pub(crate) use vast::VastHarness;
