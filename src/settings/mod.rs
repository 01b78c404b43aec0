//! What a person decided once for all runs: flags over environment over `config.toml` over defaults.
//!
//! [`Settings::load`] resolves everything once and keeps, for each value, where it came from. Flags
//! lie above: the verbs that have them overlay them on what is resolved here.

mod addresses;
mod credentials;
mod environment;
mod file;
mod resolved;
mod table;

pub(crate) use credentials::KeyPlace;
pub(crate) use environment::Environment;
pub(crate) use resolved::Settings;
pub(crate) use table::SETTINGS;
