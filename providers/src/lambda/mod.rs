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

use crate::cloud::{Address, CloudInfo, KeyFile, KeyPlaces};

pub use provider::Lambda;

/// The name in job files, the ledger and error messages.
pub(crate) const NAME: &str = "lambda";

/// Where its key and its address are said.
pub(crate) const CLOUD: CloudInfo = CloudInfo {
    name: NAME,
    key: KeyPlaces {
        variables: &[
            &["LAMBDA_API_KEY"],
            &["LAMBDA_CLOUD_TOKEN"],
            &["LAMBDA_CLOUD_API_TOKEN"],
            &["LAMBDA_API_TOKEN"],
        ],
        config: &["key"],
        files: &[(
            "~/.lambda_cloud/lambda_keys",
            KeyFile::Lines(&[&["api_key"]]),
        )],
    },
    addresses: &[Address {
        key: "url",
        variable: "LAMBDA_CLOUD_BASE_URL",
        default: api::BASE_URL,
        help: "Where Lambda's API is",
    }],
    open_market: false,
    open: |config| Box::new(Lambda::new(config)),
};
