//! RunPod: containers in its own data centres and in other people's.
//!
//! Wire: REST v2 as the vendor's documentation of 2026-08-20 has it; REST v1 has been 410 since 2026-11-15. GraphQL, which
//! alone tells the balance, is asked for nothing else: it ends in 2027.

mod api;
mod convert;
mod errors;
mod provider;
mod volumes;

pub use provider::RunPod;

/// The name in job files, the ledger and error messages.
pub(crate) const NAME: &str = "runpod";
