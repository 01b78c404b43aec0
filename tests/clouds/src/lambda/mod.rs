//! Lambda Cloud: whole instances by the minute, no stop, no start.

mod catalog;
mod file_systems;
mod instances;
mod keys;
mod launch;
mod refuse;
mod vendor;
mod view;

pub use vendor::Lambda;
