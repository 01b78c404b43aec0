//! The ledger as its callers use it.

pub(crate) mod fixtures;
mod history;
mod opening;
mod runs;
mod together;

type Outcome = Result<(), Box<dyn std::error::Error>>;
