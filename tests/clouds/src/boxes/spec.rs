use serde::Serialize;

use crate::{Machine, Rental, SimError};

/// Where a box's sshd answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SshAddress {
    /// Host name or address.
    pub host: String,
    /// TCP port.
    pub port: u16,
}

/// What the programs on a box find of its GPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Gpus {
    /// As rented.
    Good,
    /// Listed and said to be available, but the first kernel dies: `import torch` finds a torch that does so.
    Broken,
    /// Fallen off the bus: still listed, and every question about them fails.
    Lost,
}

/// What a box needs to know to start.
#[derive(Debug, Clone)]
pub struct BoxSpec {
    /// The vendor's id.
    pub id: String,
    /// The login's name.
    pub user: &'static str,
    /// Public keys that may log in, OpenSSH lines.
    pub keys: Vec<String>,
    /// Environment of its sessions.
    pub environment: Vec<(String, String)>,
    /// GPUs in it.
    pub gpus: u32,
    /// What they are called, as `nvidia-smi` says it.
    pub model: String,
    /// Memory of one, MiB.
    pub memory_mb: u32,
    /// The driver's version.
    pub driver: String,
    /// What programs find.
    pub gpu_state: Gpus,
    /// Disk, MB.
    pub disk_mb: u64,
    /// Volumes mounted: id, and path in the box.
    pub volumes: Vec<(String, String)>,
}

/// Boxes of one kind. A box keeps its files from start to start, until it is destroyed; dropped, all are gone.
pub trait Boxes: Send {
    /// Starts a box, new or stopped, and says where its sshd answers.
    ///
    /// # Errors
    /// What couldn't be made or started.
    fn start(&mut self, spec: &BoxSpec) -> Result<SshAddress, SimError>;

    /// Kills all its processes; its files stay. Unknown ids are none.
    ///
    /// # Errors
    /// What couldn't be killed.
    fn stop(&mut self, id: &str) -> Result<(), SimError>;

    /// Kills and removes it. Unknown ids are none.
    ///
    /// # Errors
    /// What couldn't be removed.
    fn destroy(&mut self, id: &str) -> Result<(), SimError>;

    /// Other keys may log in from now on. Unknown ids are none.
    ///
    /// # Errors
    /// What couldn't be written.
    fn set_keys(&mut self, id: &str, user: &str, keys: &[String]) -> Result<(), SimError>;

    /// An address where nothing listens.
    fn refusing(&self) -> SshAddress {
        // Port 1 (tcpmux) is served nowhere.
        SshAddress {
            host: "127.0.0.1".to_owned(),
            port: 1,
        }
    }
}

impl BoxSpec {
    /// The torch that a box with broken GPUs has, as a module's text.
    pub(crate) fn broken_torch(&self) -> Option<String> {
        let constants = format!("\n\nCOUNT = {}\nNAME = {:?}\n", self.gpus, self.model);
        (self.gpu_state == Gpus::Broken)
            .then(|| include_str!("broken_torch.py").to_owned() + &constants)
    }

    pub(crate) fn new(rental: &Rental, machine: Option<&Machine>) -> Self {
        let gigabytes = u64::try_from(rental.order.disk_gb.trunc().mantissa()).unwrap_or(0);
        Self {
            id: rental.id().to_owned(),
            user: rental.order.user,
            keys: rental.order.keys.clone(),
            environment: rental.order.environment.clone(),
            gpus: rental.gpus_now,
            model: machine.map_or_else(String::new, |it| format!("NVIDIA {}", it.model)),
            memory_mb: machine.map_or(0, |it| it.memory_mb),
            driver: machine.map_or_else(String::new, |it| it.driver.clone()),
            gpu_state: rental.gpu_state,
            disk_mb: gigabytes.saturating_mul(1000),
            volumes: rental.order.volumes.clone(),
        }
    }
}
