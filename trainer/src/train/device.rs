//! Which device, and how many threads.

use std::thread;

use tch::Device;

use super::error::TrainError;
use crate::config::{Code, device_list};
use crate::dist::Member;
use crate::libtorch;

/// CPUs this process may use: the machine's, less what its affinity and its cgroup's quota forbid.
pub fn usable_cpus() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// Limits libtorch to this process's part of the usable CPUs, of `processes` on this machine, unless `OMP_NUM_THREADS` decides: a container with a quota of four
/// CPUs on a host of two hundred would otherwise be throttled at every step.
pub(super) fn limit_threads(processes: u32) -> usize {
    if std::env::var_os("OMP_NUM_THREADS").is_none() {
        let share = (usable_cpus() / processes.max(1) as usize).max(1);
        tch::set_num_threads(i32::try_from(share).unwrap_or(1));
    }
    usize::try_from(tch::get_num_threads()).unwrap_or(1)
}

/// The device by its name: `auto`, `cpu`, `cuda`, `cuda:N` or `N`.
///
/// # Errors
/// When there is no such card, or libtorch is of another version.
pub(super) fn choose_device(name: &str) -> Result<Device, TrainError> {
    let missing =
        |message: String| TrainError::new(Code::DeviceNotAvailable, "RuntimeError", message);
    let libtorch = libtorch::load().map_err(|e| missing(e.to_string()))?;
    let cards = usize::try_from(libtorch.cuda_devices()).unwrap_or(0);
    let card = match name {
        "auto" => return Ok(libtorch.default_device()),
        "cpu" => return Ok(Device::Cpu),
        "cuda" => 0,
        other => other
            .strip_prefix("cuda:")
            .unwrap_or(other)
            .parse()
            .map_err(|_| {
                missing(format!("`{other}` is no device"))
                    .suggest("Give auto, cpu or the number of a GPU")
            })?,
    };
    if card < cards {
        return Ok(Device::Cuda(card));
    }
    Err(missing(format!(
        "device cuda:{card} was asked for, but {cards} CUDA devices can be used"
    ))
    .suggest("`gpurun-train smoke device=cuda` says why; device=cpu trains without"))
}

/// A process's device: its own of the list, or with one name the card of its number on this machine.
///
/// # Errors
/// As [`choose_device`].
pub(super) fn device_of(member: &Member, names: &str) -> Result<Device, TrainError> {
    let local = member.local_rank as usize;
    if let Some(list) = device_list(names) {
        return match list.get(local) {
            Some(name) => choose_device(name),
            None => Err(TrainError::new(
                Code::Conflict,
                "ValueError",
                format!("device={names} names no device for process {local} of this machine"),
            )),
        };
    }
    match names {
        "auto" | "cuda" => match choose_device("auto")? {
            Device::Cuda(_) => choose_device(&local.to_string()),
            device if names == "auto" => Ok(device),
            _ => choose_device("cuda"),
        },
        name => choose_device(name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cpu_is_always_there() {
        assert_eq!(choose_device("cpu").unwrap(), Device::Cpu);
        assert!(usable_cpus() >= 1);
    }

    #[test]
    fn a_missing_card_is_named() {
        let error = choose_device("99").unwrap_err();
        assert_eq!(error.code, Code::DeviceNotAvailable);
        assert!(error.message.contains("cuda:99"), "{error}");
        assert_eq!(error.exit_code(), 1);
    }
}
