//! Every provider there is. One line each; the conformance suite fails for one it has no harness for.

use std::collections::BTreeMap;

use crate::config::CloudConfig;
use crate::local::{Local, LocalConfig};
use crate::provider::Provider;

/// The settings of all providers, resolved.
#[derive(Clone, Debug)]
pub struct RegistryConfig {
    pub local: LocalConfig,
    /// The clouds that may be asked, by the provider's name.
    pub clouds: BTreeMap<String, CloudConfig>,
}

/// All providers, in the order in which they are shown.
pub fn registry(config: &RegistryConfig) -> Vec<Box<dyn Provider>> {
    vec![Box::new(Local::new(config.local.clone()))]
}
