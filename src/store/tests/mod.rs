//! The ledger as its callers use it.

mod fixtures;
mod history;
mod opening;
mod runs;
mod together;

type Outcome = Result<(), Box<dyn std::error::Error>>;
