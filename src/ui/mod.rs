//! The only module that prints: stdout is data, stderr is talk.

pub(crate) mod cost;
mod doctor;
pub(crate) mod format;
mod progress;
mod run_cost;
mod steps;
mod table;
mod terminal;

pub(crate) use doctor::{doctor, finding};
pub(crate) use progress::{Follower, Progress};
pub(crate) use run_cost::{run_cost, volume};
pub(crate) use steps::Steps;
pub(crate) use table::{Column, table};
pub(crate) use terminal::{Ui, usage};
