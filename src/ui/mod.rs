//! The only module that prints: stdout is data, stderr is talk.

pub(crate) mod format;
mod progress;
mod table;
mod terminal;

pub(crate) use progress::{Follower, Progress};
pub(crate) use table::{Column, table};
pub(crate) use terminal::{SCHEMA_VERSION, Ui, usage};
