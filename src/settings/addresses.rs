//! Where the clouds' APIs are: settings that come with each cloud of the registry.

use gpurun_providers::{Address, CLOUDS};

/// An address of one cloud.
#[derive(Debug, Clone, Copy)]
pub(super) struct CloudAddress {
    pub(super) cloud: &'static str,
    pub(super) address: &'static Address,
}

impl CloudAddress {
    /// Dotted: `providers.vast.url`.
    pub(super) fn path(self) -> String {
        format!("providers.{}.{}", self.cloud, self.address.key)
    }

    /// A key must not go over the network in the clear: `http://` only to this machine itself.
    pub(super) fn is_safe(text: &str) -> bool {
        if text.starts_with("https://") {
            return true;
        }
        let rest = text.strip_prefix("http://");
        ["127.0.0.1", "localhost", "[::1]"].iter().any(|host| {
            let rest = rest.and_then(|rest| rest.strip_prefix(host));
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with([':', '/']))
        })
    }
}

/// Every address of every cloud, in the order of the documentation.
pub(super) fn addresses() -> impl Iterator<Item = CloudAddress> {
    CLOUDS.iter().flat_map(|cloud| {
        cloud.addresses.iter().map(|address| CloudAddress {
            cloud: cloud.name,
            address,
        })
    })
}
