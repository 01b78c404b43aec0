//! Lambda Cloud: whole machines of one vendor, by the minute.
//!
//! Wire: the vendor's OpenAPI as its generated client has it, PyPI `lambda-ai-cloud-api-client` 2.4.1.

mod api;
mod convert;
mod errors;
mod provider;
#[cfg(test)]
mod recorded;
mod volumes;

pub use provider::Lambda;

/// The name in job files, the ledger and error messages.
pub(crate) const NAME: &str = "lambda";
