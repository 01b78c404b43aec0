//! What is wrong with a dataset, found before a GPU is paid for.
//!
//! The identifiers are those of `libreyolo doctor` wherever the two check the same thing, so that what is
//! known about one report holds for the other. Errors lose data or stop a training, warnings deserve a
//! look, infos are facts worth knowing.

mod balance;
mod config;
mod files;
mod images;
mod labels;
mod report;
mod run;
mod scan;

pub use report::{ClassStats, Finding, Place, Report, Severity, SplitStats, Stats};
pub use run::{CheckOptions, check};

#[cfg(test)]
mod tests;
