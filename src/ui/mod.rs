//! The only module that prints: stdout is data, stderr is talk.

mod terminal;

pub(crate) use terminal::{Ui, usage};
