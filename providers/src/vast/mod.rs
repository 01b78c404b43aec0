//! Vast.ai: a market of other people's machines.
//!
//! Wire: the vendor's OpenAPI of 2026-08-07 and its client, PyPI `vastai` 1.9.1. What differs from its words was measured and
//! is said where it is used. A box is an "instance" there, an offer an "ask", and a wrong key is often a 404.

mod api;
mod convert;
mod errors;
mod offers;
mod provider;
mod volumes;

use crate::cloud::{Address, CloudInfo, KeyFile, KeyPlaces};

pub use provider::Vast;

/// The name in job files, the ledger and error messages.
pub(crate) const NAME: &str = "vast";

/// Where its key and its address are said.
pub(crate) const CLOUD: CloudInfo = CloudInfo {
    name: NAME,
    key: KeyPlaces {
        variables: &[&["VAST_API_KEY"], &["VASTAI_API_KEY"]],
        config: &["key"],
        files: &[
            ("$config/vastai/vast_api_key", KeyFile::Whole),
            ("~/.vast_api_key", KeyFile::Whole),
        ],
    },
    addresses: &[Address {
        key: "url",
        variable: "VAST_URL",
        default: api::BASE_URL,
        help: "Where Vast.ai's API is",
    }],
    open_market: true,
    open: |config| Box::new(Vast::new(config)),
};
