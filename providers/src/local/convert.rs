//! Between this machine's words and the contract's; pure.

use std::collections::BTreeMap;
use std::io;
use std::num::NonZeroU32;
use std::path::PathBuf;

use gpurun_pricing::{
    GigabyteRate, GpuRequest, GpuSelection, HourlyRate, Offer, RateCard, StopSupport,
};
use rust_decimal::Decimal;

use super::NAME;
use super::api::{BoxFile, BoxState};
use super::boxes::Found;
use super::config::LocalConfig;
use super::processes::MARK;
use super::transitions::Obstacle;
use crate::error::{Error, ErrorKind, Operation};
use crate::instance::{Access, Instance, InstanceState};

/// The id of the offer without a GPU.
pub(super) const CPU_OFFER: &str = "cpu";

/// One GPU of this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LocalGpu {
    pub(super) index: u32,
    /// As `nvidia-smi` writes it.
    pub(super) name: String,
    pub(super) memory_mib: u32,
}

/// Reads lines of `index, name, memory in MiB`.
pub(super) fn parse_nvidia_smi(text: &str) -> Result<Vec<LocalGpu>, String> {
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    lines
        .map(|line| parse_gpu(line).ok_or_else(|| format!("not a line of nvidia-smi: `{line}`")))
        .collect()
}

fn parse_gpu(line: &str) -> Option<LocalGpu> {
    let (index, rest) = line.split_once(',')?;
    let (name, memory) = rest.rsplit_once(',')?;
    Some(LocalGpu {
        index: index.trim().parse().ok()?,
        name: name.trim().to_owned(),
        memory_mib: memory.trim().parse().ok()?,
    })
}

/// The prices of a box with `gpus` GPUs.
pub(super) fn rate_card(config: &LocalConfig, gpus: u32) -> RateCard {
    let each = HourlyRate::new(config.per_gpu.amount().saturating_mul(Decimal::from(gpus)));
    RateCard {
        running: config.running + each,
        disk_running: config.disk,
        disk_stopped: config.disk,
        hours_per_month: config.hours_per_month,
        inbound: GigabyteRate::ZERO,
        outbound: GigabyteRate::ZERO,
        quantum_seconds: NonZeroU32::MIN,
        minimum_seconds: 0,
        stop: StopSupport::KeepsDisk,
        as_of: config.as_of,
        source: config.source.clone(),
    }
}

/// What this machine offers for `gpu`, given its GPUs that no box has.
pub(super) fn offers(config: &LocalConfig, gpu: &GpuRequest, free: &[LocalGpu]) -> Vec<Offer> {
    let GpuRequest::Gpus(asked) = gpu else {
        return vec![offer(config, gpu, CPU_OFFER.to_owned())];
    };
    let mut by_name: BTreeMap<&str, u32> = BTreeMap::new();
    for gpu in free.iter().filter(|gpu| answers(gpu, asked)) {
        *by_name.entry(&gpu.name).or_default() += 1;
    }
    let count = asked.count().get();
    let enough = by_name.into_iter().filter(|(_, free)| *free >= count);
    enough
        .map(|(name, _)| offer(config, gpu, format!("{name}x{count}")))
        .collect()
}

fn offer(config: &LocalConfig, gpu: &GpuRequest, id: String) -> Offer {
    let card = rate_card(config, gpu.count());
    Offer::new(NAME, id, gpu.clone(), card)
}

/// How many GPUs of which name an offer of ours stands for; `None` for one that isn't ours.
pub(super) fn parse_offer_id(id: &str) -> Option<(Option<&str>, u32)> {
    if id == CPU_OFFER {
        return Some((None, 0));
    }
    let (name, count) = id.rsplit_once('x')?;
    Some((Some(name), count.parse().ok().filter(|count| *count > 0)?))
}

/// Whether a GPU of this machine is what was asked for, by its name and by the memory it really has.
fn answers(gpu: &LocalGpu, asked: &GpuSelection) -> bool {
    match GpuRequest::of_cards(&gpu.name, gpu.memory_mib, asked.count()) {
        Some(found) => GpuRequest::Gpus(asked.clone()).is_met_by(&found),
        None => false,
    }
}

/// What a box looks like from outside.
pub(super) fn instance(found: &Found, home: PathBuf) -> Instance {
    let file = match found {
        Found::Whole(file) => file,
        Found::Unreadable { id, why } => return broken(id, why),
    };
    let now = file.now();
    let state = now.map_or(InstanceState::Broken, |now| state(now.state));
    Instance {
        id: file.id.clone(),
        label: Some(file.label.clone()),
        state,
        created_at: file.timeline.first().map(|first| first.at),
        state_since: now.map(|now| now.at),
        access: (state == InstanceState::Running).then(|| access(file, home)),
        gpus: (state == InstanceState::Running)
            .then_some(file.gpus.len())
            .and_then(|count| u32::try_from(count).ok()),
        disk: Some(file.disk_gb),
        price: Some(match state {
            InstanceState::Running => file.rates.running_rate(file.disk_gb),
            _ => file.rates.stopped_rate(file.disk_gb),
        }),
        message: None,
    }
}

fn broken(id: &str, why: &str) -> Instance {
    Instance {
        id: id.to_owned(),
        label: None,
        state: InstanceState::Broken,
        created_at: None,
        state_since: None,
        access: None,
        gpus: None,
        disk: None,
        price: None,
        message: Some(why.to_owned()),
    }
}

fn state(state: BoxState) -> InstanceState {
    match state {
        BoxState::Running => InstanceState::Running,
        BoxState::Stopping => InstanceState::Stopping,
        BoxState::Stopped => InstanceState::Stopped,
        BoxState::Destroying => InstanceState::Destroying,
    }
}

fn access(file: &BoxFile, home: PathBuf) -> Access {
    // A box sees the GPUs it rented and no other; without any, CUDA finds none.
    let gpus = file
        .gpus
        .iter()
        .map(u32::to_string)
        .collect::<Vec<_>>()
        .join(",");
    let environment = [
        (MARK.to_owned(), file.id.clone()),
        ("CUDA_VISIBLE_DEVICES".to_owned(), gpus),
    ];
    Access::Local {
        home,
        environment: environment.into(),
    }
}

/// An obstacle in the contract's words.
pub(super) fn error(operation: Operation, obstacle: &Obstacle) -> Error {
    let (kind, remedy) = match obstacle {
        Obstacle::Gone => (ErrorKind::Gone, "List the boxes that exist: gpurun status.".to_owned()),
        Obstacle::Unreadable(_) => (ErrorKind::Unknown, "Destroy the box; nothing else can be done with it.".to_owned()),
        Obstacle::LabelInUse { id, .. } => (ErrorKind::InvalidRequest, format!("Adopt or destroy box {id}.")),
        Obstacle::NoFreeGpu { .. } => (ErrorKind::NoCapacity, "Stop or destroy a box that holds GPUs.".to_owned()),
        Obstacle::Processes(_) => (
            ErrorKind::Unavailable,
            "Look at them with ps: a process in state D waits for the kernel; try again when it has left.".to_owned(),
        ),
        Obstacle::Files(error) => match error.kind() {
            io::ErrorKind::StorageFull => (ErrorKind::Unavailable, "Free some disk space.".to_owned()),
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                let error = Error::new(NAME, operation, ErrorKind::Unavailable, obstacle.to_string(), "Make the state directory writable for this user.");
                return error.with_temporary(false);
            }
            _ => (ErrorKind::Unavailable, "Look at the state directory.".to_owned()),
        },
    };
    Error::new(NAME, operation, kind, obstacle.to_string(), remedy)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gpu(name: &str, memory_mib: u32) -> LocalGpu {
        LocalGpu {
            index: 0,
            name: name.to_owned(),
            memory_mib,
        }
    }

    fn offered(asked: &str, free: &[LocalGpu]) -> Vec<String> {
        let asked = asked.parse().expect("a GPU request");
        let config = LocalConfig::new(PathBuf::from("/nowhere"));
        offers(&config, &asked, free)
            .into_iter()
            .map(|offer| offer.id)
            .collect()
    }

    #[test]
    fn nvidia_smi_is_read_line_by_line() {
        let text = "0, NVIDIA GeForce RTX 4090, 24564\n1, NVIDIA H200, 143771\n\n";
        let gpus = parse_nvidia_smi(text).expect("two GPUs");
        assert_eq!(
            gpus[0],
            LocalGpu {
                index: 0,
                name: "NVIDIA GeForce RTX 4090".to_owned(),
                memory_mib: 24564
            }
        );
        assert_eq!((gpus[1].index, gpus[1].memory_mib), (1, 143_771));
        assert_eq!(parse_nvidia_smi(""), Ok(Vec::new()));
        assert!(parse_nvidia_smi("No devices were found").is_err());
    }

    #[test]
    fn only_what_is_there_and_free_is_offered() {
        let two = [
            gpu("NVIDIA GeForce RTX 4090", 24_564),
            gpu("NVIDIA GeForce RTX 4090", 24_564),
        ];
        assert_eq!(offered("4090x2", &two), ["NVIDIA GeForce RTX 4090x2"]);
        assert_eq!(offered("4090x3", &two), Vec::<String>::new());
        assert_eq!(offered("h100", &two), Vec::<String>::new());
        assert_eq!(offered("cpu", &[]), ["cpu"]);
    }

    #[test]
    fn memory_tells_cards_of_one_name_apart() {
        let small = [gpu("NVIDIA A100-SXM4-40GB", 40_960)];
        assert_eq!(offered("a100-40", &small).len(), 1);
        assert_eq!(offered("a100-80", &small), Vec::<String>::new());
        assert_eq!(offered("h200", &[gpu("NVIDIA H200", 143_771)]).len(), 1);
        assert_eq!(
            offered("4090", &[gpu("NVIDIA GeForce RTX 4090", 49_140)]),
            Vec::<String>::new()
        );
    }

    #[test]
    fn an_offer_is_found_again_by_its_id() {
        assert_eq!(parse_offer_id("cpu"), Some((None, 0)));
        assert_eq!(
            parse_offer_id("NVIDIA RTX A6000x4"),
            Some((Some("NVIDIA RTX A6000"), 4))
        );
        for foreign in ["", "4090", "x0", "12345"] {
            assert_eq!(parse_offer_id(foreign), None, "{foreign}");
        }
    }
}
