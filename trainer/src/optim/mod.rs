//! The optimizer, its schedules, and the moving average of the weights.

mod ema;
mod schedule;
mod sgd;

pub use crate::shim::ShimError;
pub use ema::{Ema, EmaConfig};
pub use schedule::{Decay, Schedule, ScheduleConfig};
pub use sgd::{GroupState, Sgd, SgdConfig, SgdState, StateError};

#[cfg(test)]
mod tests;
