//! The only module that prints: stdout is data, stderr is talk.

pub(crate) mod format;
mod table;
mod terminal;

pub(crate) use table::{Column, table};
pub(crate) use terminal::{SCHEMA_VERSION, Ui, usage};
