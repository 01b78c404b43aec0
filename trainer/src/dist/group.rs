//! The group of this training's processes: Gloo for tensors of the CPU, NCCL for those of a card.

use std::sync::OnceLock;
use std::time::Duration;

use tch::{Device, Tensor};

use super::collective::Collective;
use super::error::DistError;
use super::nccl::Communicator;
use super::world::{Member, Shard};
use crate::shim::{Interface, ProcessGroup, ProcessGroupConfig, ShimError};

/// How long processes wait for each other to come up, each of which reads the same data set before.
const MEETING: Duration = Duration::from_secs(15 * 60);
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
    /// The first call that failed. Those that come up through libtorch arrive as its errors.
    lost: OnceLock<DistError>,
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
            interface: match std::env::var("GLOO_SOCKET_IFNAME") {
                Ok(name) if !name.is_empty() => Interface::Name(name),
                _ if is_one_machine => Interface::Address("127.0.0.1".to_owned()),
                _ => Interface::OfHostName,
            },
            meeting_timeout: MEETING,
            timeout: TIMEOUT,
        })
        .map_err(lost)?;
        let nccl = match device {
            Device::Cuda(card) => Some(Communicator::join(card, &member, &gloo)?),
            _ => None,
        };
        Ok(Self {
            member,
            gloo,
            nccl,
            lost: OnceLock::new(),
        })
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

    /// Why the processes aren't together any more, once a call has failed.
    pub fn lost(&self) -> Option<&DistError> {
        self.lost.get()
    }

    /// This process's share of each batch.
    pub fn shard(&self) -> Shard {
        self.member.shard()
    }

    /// How many processes share this machine.
    pub fn local_world(&self) -> u32 {
        self.member.local_world
    }

    fn failed(&self, doing: &'static str, error: &ShimError) -> DistError {
        self.remember(lost(&self.member, doing, error))
    }

    fn remember(&self, error: DistError) -> DistError {
        self.lost.get_or_init(|| error).clone()
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
            (Some(nccl), Device::Cuda(_)) => nccl
                .all_reduce_sum(tensor)
                .map_err(|error| self.remember(error)),
            _ => self
                .gloo
                .all_reduce_sum(tensor)
                .map_err(|error| self.failed("summing", &error)),
        }
    }

    fn broadcast(&self, tensor: &Tensor, root: u32) -> Result<(), DistError> {
        match (&self.nccl, tensor.device()) {
            (Some(nccl), Device::Cuda(_)) => nccl
                .broadcast(tensor, root)
                .map_err(|error| self.remember(error)),
            _ => self
                .gloo
                .broadcast(tensor, root)
                .map_err(|error| self.failed("copying", &error)),
        }
    }

    fn barrier(&self) -> Result<(), DistError> {
        self.gloo
            .barrier()
            .map_err(|error| self.failed("waiting for the others", &error))
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

#[cfg(test)]
pub(crate) mod tests {
    use std::net::TcpListener;
    use std::thread;

    use tch::Kind;

    use super::*;

    /// Runs a thread for each of `world` processes, which meet over Gloo as processes do.
    pub(crate) fn together<T: Send>(
        world: u32,
        work: impl Fn(&'static Group) -> T + Sync,
    ) -> Vec<T> {
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = free.local_addr().unwrap().port();
        drop(free);
        let member = |rank| Member {
            rank,
            world,
            local_rank: rank,
            local_world: world,
            host: "127.0.0.1".to_owned(),
            port,
            has_store: false,
        };
        let join = |rank| {
            let group = Group::join(member(rank), Device::Cpu).unwrap();
            work(Box::leak(Box::new(group)))
        };
        thread::scope(|scope| {
            let start = |rank| scope.spawn(move || join(rank));
            let threads: Vec<_> = (0..world).map(start).collect();
            let results = threads.into_iter().map(|thread| thread.join().unwrap());
            results.collect()
        })
    }

    #[test]
    fn sums_and_copies_reach_every_process() {
        let results = together(3, |group| {
            let sum = Tensor::from_slice(&[f64::from(group.rank()), 1.0]);
            group.all_reduce_sum(&sum).unwrap();
            let copy = Tensor::from_slice(&[group.rank() as i64]);
            group.broadcast(&copy, 2).unwrap();
            group.barrier().unwrap();
            (Vec::<f64>::try_from(sum).unwrap(), copy.int64_value(&[0]))
        });
        assert_eq!(results, vec![(vec![3.0, 3.0], 2); 3]);
    }

    #[test]
    fn the_reason_of_one_reaches_the_others() {
        let heard = together(2, |group| {
            if group.rank() == 1 {
                group.leave_word("CUDA out of memory");
            }
            group.barrier().unwrap();
            group.last_words()
        });
        assert_eq!(heard[0], Some((1, "CUDA out of memory".to_owned())));
        assert_eq!(heard[1], None);
    }

    #[test]
    fn a_call_that_fails_is_remembered() {
        let lost = together(2, |group| {
            // A sum of tensors of different lengths can't be.
            let values = Tensor::zeros([1 + i64::from(group.rank())], (Kind::Half, Device::Cpu));
            let shape = values.to_sparse_sparse_dim(1);
            let result = group.all_reduce_sum(&shape);
            (result.err(), group.lost().cloned())
        });
        for (error, remembered) in lost {
            assert!(matches!(error, Some(DistError::Lost { .. })), "{error:?}");
            assert_eq!(error, remembered);
        }
    }
}
