//! Every provider there is. One line each; the conformance suite fails for one it has no harness for.

use std::collections::BTreeMap;

use crate::config::CloudConfig;
use crate::lambda::{self, Lambda};
use crate::local::{Local, LocalConfig};
use crate::provider::Provider;
use crate::runpod::{self, RunPod};
use crate::vast::{self, Vast};

/// The settings of all providers, resolved.
#[derive(Clone, Debug)]
pub struct RegistryConfig {
    pub local: LocalConfig,
    /// The clouds that may be asked, by the provider's name; the others aren't in the registry.
    pub clouds: BTreeMap<String, CloudConfig>,
}

/// This machine and every cloud that is configured, in the order in which they are shown.
pub fn registry(config: &RegistryConfig) -> Vec<Box<dyn Provider>> {
    let mut providers: Vec<Box<dyn Provider>> = vec![Box::new(Local::new(config.local.clone()))];
    let cloud = |name: &str| config.clouds.get(name);
    providers.extend(cloud(vast::NAME).map(|config| Box::new(Vast::new(config)) as _));
    providers.extend(cloud(runpod::NAME).map(|config| Box::new(RunPod::new(config)) as _));
    providers.extend(cloud(lambda::NAME).map(|config| Box::new(Lambda::new(config)) as _));
    providers
}
