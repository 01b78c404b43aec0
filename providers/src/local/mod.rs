//! Boxes on this machine: a folder each, with a home of its own and a price. See `README.md` here.

mod api;
mod boxes;
mod config;
mod convert;
mod gpus;
mod processes;
mod provider;
mod transitions;

pub use config::LocalConfig;
pub use provider::Local;

const NAME: &str = "local";
