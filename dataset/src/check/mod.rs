//! What is wrong with a dataset, found before a GPU is paid for.
//!
//! The checks, their identifiers, severities and bounds are those of LibreYOLO 1.6.0's doctor, so that what is known
//! about one report holds for the other. Errors lose data or stop a training, warnings deserve a look, infos are facts
//! worth knowing.

mod balance;
mod catalog;
mod config;
mod content;
mod description;
mod files;
mod image_facts;
mod images;
mod jpeg;
mod label_facts;
mod labels;
mod loose;
mod near;
mod obstacles;
mod report;
mod run;
mod scan;
mod selection;
mod splits;
mod task;
mod thumbnail;

pub use obstacles::{check_for_launch, obstacles};
pub use report::{Finding, Place, Report, Severity, SplitStats, Stats};
pub use run::{CheckError, CheckOptions, check};
pub use selection::{CheckSelection, SelectionError};

#[cfg(test)]
mod tests;
