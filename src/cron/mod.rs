//! The teardown check on a schedule: one marked entry in the user's crontab, nothing else of it.
//!
//! A crontab is replaced as a whole by whoever writes last, so every change is made under a lock,
//! kept as a copy, and read back. Before an entry is written its very command runs once as cron will
//! run it, and one that could not read every provider is not written.

mod crontab;
mod entry;
mod rehearsal;
mod schedule;
#[cfg(test)]
mod script;
mod table;

pub(crate) use crontab::Crontab;
pub(crate) use entry::{Entry, variables};
pub(crate) use rehearsal::rehearse;
pub(crate) use schedule::schedule;
pub(crate) use table::{Installed, installed, with_entry, without_entry};

use miette::Diagnostic;

/// A crontab that can't be read, changed or trusted: what, why, and one thing to do.
#[derive(Debug, thiserror::Error, Diagnostic)]
#[error("{message}")]
pub(crate) struct CronError {
    pub(crate) message: String,
    #[help]
    pub(crate) help: String,
}

impl CronError {
    pub(crate) fn new(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            help: help.into(),
        }
    }
}
