//! Every provider there is. One line each; the conformance suite fails for one it has no harness for.

use std::collections::BTreeMap;

use crate::cloud::CloudInfo;
use crate::config::CloudConfig;
use crate::local::{Local, LocalConfig};
use crate::provider::Provider;
use crate::{lambda, runpod, vast, verda};

/// Every cloud, in the order in which they are shown.
pub const CLOUDS: &[CloudInfo] = &[vast::CLOUD, runpod::CLOUD, lambda::CLOUD, verda::CLOUD];

/// The settings of all providers, resolved.
#[derive(Clone, Debug)]
pub struct RegistryConfig {
    pub local: LocalConfig,
    /// The clouds that may be asked, by the provider's name; the others aren't in the registry.
    pub clouds: BTreeMap<String, CloudConfig>,
}

/// This machine and every cloud that is configured, in the order in which they are shown.
pub fn registry(config: &RegistryConfig) -> Vec<Box<dyn Provider>> {
    let local: Box<dyn Provider> = Box::new(Local::new(config.local.clone()));
    let clouds = CLOUDS.iter().filter_map(|cloud| {
        let configured = config.clouds.get(cloud.name)?;
        Some((cloud.open)(configured))
    });
    std::iter::once(local).chain(clouds).collect()
}
