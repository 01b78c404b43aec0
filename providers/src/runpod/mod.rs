//! RunPod: containers in its own data centres and in other people's.
//!
//! Wire: REST v2 as the vendor's documentation of 2026-08-20 has it; REST v1 has been 410 since 2026-11-15. GraphQL, which
//! alone tells the balance, is asked for nothing else: it ends in 2027.

mod api;
mod convert;
mod errors;
mod provider;
mod volumes;

use crate::cloud::{Address, CloudInfo, KeyFile, KeyPlaces};

pub use provider::RunPod;

/// The name in job files, the ledger and error messages.
pub(crate) const NAME: &str = "runpod";

/// Where its key and its address are said.
pub(crate) const CLOUD: CloudInfo = CloudInfo {
    name: NAME,
    key: KeyPlaces {
        variables: &[&["RUNPOD_API_KEY"]],
        config: &["key"],
        files: &[(
            "~/.runpod/config.toml",
            KeyFile::Lines(&[&["api_key"], &["apiKey"]]),
        )],
    },
    addresses: &[
        Address {
            key: "url",
            variable: "RUNPOD_API_URL",
            default: api::BASE_URL,
            help: "Where RunPod's REST API is, without the version",
        },
        Address {
            key: "graphql_url",
            variable: "RUNPOD_API_BASE_URL",
            default: api::BASE_URL,
            help: "Where RunPod's GraphQL is, which alone knows the balance, without its path",
        },
    ],
    open_market: false,
    open: |config| Box::new(RunPod::new(config)),
};
