//! The group of this training's processes: Gloo for tensors of the CPU, NCCL for those of a card.

use std::time::Duration;

use tch::{Device, Tensor};

use super::collective::Collective;
use super::error::DistError;
use super::nccl::Communicator;
use super::world::Member;
use crate::shim::{ProcessGroup, ProcessGroupConfig, ShimError};

/// How long one process may let the others wait: the first validates, the rest are idle meanwhile.
const TIMEOUT: Duration = Duration::from_secs(3 * 3600);
/// How long the others have to say why they ended, once they are gone.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// All processes of one training.
#[derive(Debug)]
pub struct Group {
    member: Member,
    gloo: ProcessGroup,
    nccl: Option<Communicator>,
}

impl Group {
    /// Waits for the others.
    ///
    /// # Errors
    /// When they don't come, or the device has no means to sum with them.
    pub fn join(member: Member, device: Device) -> Result<Self, DistError> {
        let lost = |error: ShimError| lost(&member, "meeting the others", &error);
        let is_one_machine = member.local_world == member.world;
        let gloo = ProcessGroup::join(&ProcessGroupConfig {
            host: member.host.clone(),
            port: member.port,
            rank: member.rank,
            world: member.world,
            is_store_here: member.rank == 0 && !member.has_store,
            interface: is_one_machine.then(|| "127.0.0.1".to_owned()),
            timeout: TIMEOUT,
        })
        .map_err(lost)?;
        let nccl = match device {
            Device::Cuda(card) => Some(Communicator::join(card, &member, &gloo)?),
            _ => None,
        };
        Ok(Self { member, gloo, nccl })
    }

    /// Leaves word of why this process ends, for the one that keeps the files.
    pub fn leave_word(&self, message: &str) {
        // Nobody is left to tell when this fails.
        let _ = self.gloo.set(&key(self.member.rank), message.as_bytes());
    }

    /// What another process left as its reason to end, with its number.
    pub fn last_words(&self) -> Option<(u32, String)> {
        let others = (0..self.member.world).filter(|rank| *rank != self.member.rank);
        others.into_iter().find_map(|rank| {
            let words = self.gloo.get(&key(rank), LAST_WORDS / self.member.world);
            Some((rank, String::from_utf8_lossy(&words.ok()?).into_owned()))
        })
    }

    fn lost(&self, doing: &'static str, error: &ShimError) -> DistError {
        lost(&self.member, doing, error)
    }
}

impl Collective for Group {
    fn rank(&self) -> u32 {
        self.member.rank
    }

    fn world(&self) -> u32 {
        self.member.world
    }

    fn all_reduce_sum(&self, tensor: &Tensor) -> Result<(), DistError> {
        match (&self.nccl, tensor.device()) {
            (Some(nccl), Device::Cuda(_)) => nccl.all_reduce_sum(tensor),
            _ => self
                .gloo
                .all_reduce_sum(tensor)
                .map_err(|error| self.lost("summing", &error)),
        }
    }

    fn broadcast(&self, tensor: &Tensor, root: u32) -> Result<(), DistError> {
        match (&self.nccl, tensor.device()) {
            (Some(nccl), Device::Cuda(_)) => nccl.broadcast(tensor, root),
            _ => self
                .gloo
                .broadcast(tensor, root)
                .map_err(|error| self.lost("copying", &error)),
        }
    }

    fn barrier(&self) -> Result<(), DistError> {
        self.gloo
            .barrier()
            .map_err(|error| self.lost("waiting for the others", &error))
    }
}

fn key(rank: u32) -> String {
    format!("last-words/{rank}")
}

fn lost(member: &Member, doing: &'static str, error: &ShimError) -> DistError {
    DistError::Lost {
        rank: member.rank,
        world: member.world,
        doing,
        reason: error.to_string(),
    }
}
