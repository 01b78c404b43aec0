//! A rented box, as its provider shows it.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use chrono::{DateTime, Utc};
use gpurun_pricing::{Gigabytes, HourlyRate};

/// One box of our account, whoever made it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instance {
    /// The provider's own name for it, never used twice.
    pub id: String,
    /// What it was called at `rent`. `None` where it has none, or none that can be read.
    pub label: Option<String>,
    pub state: InstanceState,
    pub created_at: Option<DateTime<Utc>>,
    /// When `state` began, where the provider says so.
    pub state_since: Option<DateTime<Utc>>,
    /// The way in, while there is one.
    pub access: Option<Access>,
    /// How many GPUs it has now; a box that lost its GPUs while stopped has none. `None` where the provider doesn't say.
    pub gpus: Option<u32>,
    /// Allocated, not used.
    pub disk: Option<Gigabytes>,
    /// What it costs in its present state, where the provider says so.
    pub price: Option<HourlyRate>,
    /// What the provider adds in words, such as why a box is broken.
    pub message: Option<String>,
}

/// The states a box can be in, whatever a provider calls them. A destroyed box has none: it is no longer there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum InstanceState {
    Creating,
    Running,
    Stopping,
    Stopped,
    /// Accepted, and not yet proven: it may still cost money.
    Destroying,
    /// There, and of no use: only destroying it ends what it may cost.
    Broken,
}

/// How to run commands on a box.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Access {
    /// A folder of this machine.
    Local {
        /// The box's home directory: HOME, and where commands start.
        home: PathBuf,
        /// What every process of the box must have in its environment; by it the provider knows the box's processes.
        environment: BTreeMap<String, String>,
    },
    Ssh(SshAccess),
}

/// The way in over the network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SshAccess {
    pub user: String,
    /// Where to try, the best way first.
    pub endpoints: Vec<SshEndpoint>,
}

/// One address at which the box's SSH server may answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SshEndpoint {
    /// A name or an address.
    pub host: String,
    pub port: u16,
    pub kind: SshEndpointKind,
}

/// What stands between us and the box.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SshEndpointKind {
    /// Nothing.
    Direct,
    /// A server of the provider, which may be slower and carry less than SSH can.
    Proxy,
}

impl fmt::Display for InstanceState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Creating => "creating",
            Self::Running => "running",
            Self::Stopping => "stopping",
            Self::Stopped => "stopped",
            Self::Destroying => "destroying",
            Self::Broken => "broken",
        })
    }
}
