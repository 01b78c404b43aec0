//! The ways into boxes, each opened once and kept while it lasts.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use gpurun_providers::{Access, SshAccess};

use super::command::RemoteError;
use super::local::Local;
use super::ssh::{RunKeys, Ssh};
use super::transport::Remote;

/// Whose box it is, and how its provider says to get in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WayIn {
    /// The run's id: it has the key.
    pub(crate) run: String,
    /// The provider's id of the box.
    pub(crate) instance: String,
    pub(crate) access: Access,
}

/// Every connection of this process.
pub(crate) struct Connections {
    state: PathBuf,
    open: Mutex<HashMap<String, Arc<Ssh>>>,
}

impl Connections {
    /// The keys lie below the state directory.
    pub(crate) fn new(state: &Path) -> Self {
        Self {
            state: state.to_owned(),
            open: Mutex::default(),
        }
    }

    pub(crate) fn keys(&self, run: &str) -> RunKeys {
        RunKeys::of(&self.state, run)
    }

    /// Gets in, over the connection that is there or a new one.
    ///
    /// # Errors
    /// When the box doesn't answer, or not as the one that was rented.
    pub(crate) async fn connect(&self, way: &WayIn) -> Result<Arc<dyn Remote>, RemoteError> {
        match &way.access {
            Access::Local { home, environment } => Ok(Arc::new(Local::open(home, environment)?)),
            Access::Ssh(access) => {
                let ssh = self.ssh(way, access);
                ssh.open().await?;
                Ok(ssh)
            }
        }
    }

    /// The words that start this machine's own `ssh` into a box, with the run's key and the box's pin. `None` where the
    /// box is no other machine.
    ///
    /// # Errors
    /// As [`Connections::connect`].
    pub(crate) async fn system_ssh(
        &self,
        way: &WayIn,
    ) -> Result<Option<Vec<OsString>>, RemoteError> {
        match &way.access {
            Access::Local { .. } => Ok(None),
            Access::Ssh(access) => self.ssh(way, access).system_command().await.map(Some),
        }
    }

    /// A box that got another address, as after a restart, is another connection.
    fn ssh(&self, way: &WayIn, access: &SshAccess) -> Arc<Ssh> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = open
            .get(&way.instance)
            .filter(|known| known.leads_to(access))
        {
            return Arc::clone(known);
        }
        let fresh = Arc::new(Ssh::new(&way.instance, access, self.keys(&way.run)));
        open.insert(way.instance.clone(), Arc::clone(&fresh));
        fresh
    }
}
