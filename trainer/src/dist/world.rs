//! Who takes part, by torchrun's variables.

use std::ops::Range;

use super::error::DistError;

/// One process's place among all, as `torchrun` and `launch` tell it by environment variables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// `RANK`: among all processes of all machines. Process 0 keeps the files.
    pub rank: u32,
    /// `WORLD_SIZE`: how many processes there are in all.
    pub world: u32,
    /// `LOCAL_RANK`: among the processes of this machine, which decides the GPU.
    pub local_rank: u32,
    /// `LOCAL_WORLD_SIZE`: how many processes share this machine.
    pub local_world: u32,
    /// `MASTER_ADDR`: where process 0 is reached.
    pub host: String,
    /// `MASTER_PORT`.
    pub port: u16,
    /// torchrun keeps a store at that port itself; otherwise process 0 does.
    pub has_store: bool,
}

/// A process's share of each batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    pub rank: usize,
    pub world: usize,
}

impl Default for Shard {
    /// All of it.
    fn default() -> Self {
        Self { rank: 0, world: 1 }
    }
}

impl Shard {
    /// Which of a batch's `len` images are this process's; the shares make the whole, in order.
    #[must_use]
    pub fn of(self, len: usize) -> Range<usize> {
        self.rank * len / self.world..(self.rank + 1) * len / self.world
    }
}

impl Member {
    /// This process's share of each batch.
    #[must_use]
    pub fn shard(&self) -> Shard {
        Shard {
            rank: self.rank as usize,
            world: self.world as usize,
        }
    }
}

/// This process's place, or none when it trains alone.
///
/// # Errors
/// When `WORLD_SIZE` is set and the rest is missing or makes no sense.
pub fn world_of_environment() -> Result<Option<Member>, DistError> {
    of_variables(|name| std::env::var(name).ok())
}

fn of_variables(variable: impl Fn(&str) -> Option<String>) -> Result<Option<Member>, DistError> {
    let number = |name: &'static str| -> Result<Option<u32>, DistError> {
        let Some(value) = variable(name) else {
            return Ok(None);
        };
        match value.trim().parse() {
            Ok(number) => Ok(Some(number)),
            Err(_) => Err(wrong(name, &value, "is no number")),
        }
    };
    let world = number("WORLD_SIZE")?.unwrap_or(1);
    if world <= 1 {
        return Ok(None);
    }
    let missing = |name| wrong(name, "", "must be set where WORLD_SIZE is");
    let rank = number("RANK")?.ok_or_else(|| missing("RANK"))?;
    if rank >= world {
        return Err(wrong("RANK", &rank.to_string(), "is not below WORLD_SIZE"));
    }
    let host = variable("MASTER_ADDR").ok_or_else(|| missing("MASTER_ADDR"))?;
    let port = variable("MASTER_PORT").ok_or_else(|| missing("MASTER_PORT"))?;
    let port = port
        .trim()
        .parse()
        .map_err(|_| wrong("MASTER_PORT", &port, "is no port"))?;
    Ok(Some(Member {
        rank,
        world,
        local_rank: number("LOCAL_RANK")?.unwrap_or(rank),
        local_world: number("LOCAL_WORLD_SIZE")?.unwrap_or(world).max(1),
        host,
        port,
        has_store: variable("TORCHELASTIC_USE_AGENT_STORE").is_some_and(|value| value == "True"),
    }))
}

fn wrong(variable: &'static str, value: &str, reason: &'static str) -> DistError {
    DistError::Environment {
        variable,
        value: value.to_owned(),
        reason,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pairs: &[(&str, &str)]) -> Result<Option<Member>, DistError> {
        of_variables(|name| {
            let pair = pairs.iter().find(|(key, _)| *key == name);
            pair.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn torchruns_variables_are_read() {
        let member = read(&[
            ("RANK", "5"),
            ("WORLD_SIZE", "8"),
            ("LOCAL_RANK", "1"),
            ("LOCAL_WORLD_SIZE", "4"),
            ("MASTER_ADDR", "node0"),
            ("MASTER_PORT", "29500"),
            ("TORCHELASTIC_USE_AGENT_STORE", "True"),
        ]);
        let member = member.unwrap().unwrap();
        assert_eq!((member.rank, member.world), (5, 8));
        assert_eq!((member.local_rank, member.local_world), (1, 4));
        assert_eq!((member.host.as_str(), member.port), ("node0", 29500));
        assert!(member.has_store);
    }

    #[test]
    fn one_process_is_alone() {
        assert_eq!(read(&[]), Ok(None));
        assert_eq!(read(&[("WORLD_SIZE", "1"), ("RANK", "0")]), Ok(None));
    }

    #[test]
    fn what_is_missing_is_named() {
        let error = read(&[("WORLD_SIZE", "2")]).unwrap_err().to_string();
        assert!(error.starts_with("RANK="), "{error}");
        let error = read(&[("WORLD_SIZE", "2"), ("RANK", "2")]).unwrap_err();
        assert!(error.to_string().contains("not below"), "{error}");
        assert!(read(&[("WORLD_SIZE", "two")]).is_err());
    }

    #[test]
    fn shares_make_the_whole() {
        for (len, world) in [(6, 2), (6, 3), (7, 3), (1, 4)] {
            let shares = (0..world).flat_map(|rank| Shard { rank, world }.of(len));
            assert!(shares.eq(0..len), "{len} among {world}");
        }
    }
}
