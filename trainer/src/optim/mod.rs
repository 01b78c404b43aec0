//! The optimizer, its schedules, and the moving average of the weights.

mod ema;
mod method;
mod optimizer;
mod schedule;

pub use crate::shim::ShimError;
pub use ema::{Ema, EmaConfig};
pub use method::Method;
pub use optimizer::{GroupState, Memory, Optimizer, OptimizerConfig, OptimizerState, StateError};
pub use schedule::{Decay, Schedule, ScheduleConfig};

#[cfg(test)]
mod tests;
