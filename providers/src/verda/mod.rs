//! Verda (formerly DataCrunch): virtual machines of one vendor, with a disk of their own.
//!
//! Wire: the vendor's own SDK, PyPI `verda` 1.25.0, run against a server that logs.

mod api;
mod convert;
mod errors;
mod provider;
mod token;

use crate::cloud::{Address, CloudInfo, KeyPlaces};

pub use provider::Verda;

/// The name in job files, the ledger and error messages.
pub(crate) const NAME: &str = "verda";

/// Where its key and its address are said.
pub(crate) const CLOUD: CloudInfo = CloudInfo {
    name: NAME,
    key: KeyPlaces {
        variables: &[
            &["VERDA_CLIENT_ID", "VERDA_CLIENT_SECRET"],
            &["DATACRUNCH_CLIENT_ID", "DATACRUNCH_CLIENT_SECRET"],
        ],
        config: &["client_id", "client_secret"],
        files: &[],
    },
    addresses: &[Address {
        key: "url",
        variable: "VERDA_BASE_URL",
        default: api::BASE_URL,
        help: "Where Verda's API is",
    }],
    open_market: false,
    open: |config| Box::new(Verda::new(config)),
};
