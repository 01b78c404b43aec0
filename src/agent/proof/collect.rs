//! Measuring.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use gpurun_protocol::agent_spec::SCHEMA_VERSION;
use gpurun_protocol::proof::{CpuProof, DiskProof, GpuProof, Kernel, MemoryProof, Proof};
use nix::sys::statvfs::statvfs;

use super::findings::findings;
use super::{driver, kernel};
use crate::agent::error::AgentError;
use crate::agent::{cgroup, clock, cores, disk, gpu};

/// Bytes written to measure the disk, where so much room is.
const WRITTEN: u64 = 64 << 20;

/// Measures the box whose home this is. What the box lacks is a finding, not an error.
///
/// # Errors
/// When the home can't be looked at.
pub(crate) fn proof(home: &Path) -> Result<Proof, AgentError> {
    let at_home = |error| AgentError::io(home, error);
    let mut unknown = Vec::new();
    let gpus = gpu::ask(Duration::from_secs(20)).unwrap_or_else(|error| {
        unknown.push(error);
        gpu::Answer::default()
    });
    let mut proof = Proof {
        schema_version: SCHEMA_VERSION,
        at: clock::now(),
        cpu: cpu(),
        memory: memory(),
        disk: written(home, &mut unknown).map_err(at_home)?,
        shared_memory_bytes: statvfs("/dev/shm")
            .ok()
            .map(|system| system.blocks() * system.fragment_size()),
        driver: gpus.driver,
        gpus: gpus
            .gpus
            .into_iter()
            .map(|gpu| GpuProof {
                index: gpu.index,
                name: gpu.name,
                memory_bytes: gpu.memory_total_bytes,
                kernel: Kernel::Untried,
            })
            .collect(),
        c_library: c_library(),
        findings: Vec::new(),
    };
    kernels(&mut proof.gpus, &mut unknown);
    proof.findings = findings(&proof, unknown);
    Ok(proof)
}

/// A first kernel on every card; a box without cards has no driver to ask.
fn kernels(gpus: &mut [GpuProof], unknown: &mut Vec<String>) {
    if gpus.is_empty() {
        return;
    }
    match driver::compute() {
        Ok(found) if found.len() == gpus.len() => {
            for (gpu, fault) in gpus.iter_mut().zip(found) {
                gpu.kernel = fault.map_or(Kernel::Right, Kernel::Failed);
            }
        }
        Ok(found) => unknown.push(format!(
            "nvidia-smi shows {} GPUs and the driver's library {}",
            gpus.len(),
            found.len()
        )),
        Err(error) => unknown.push(format!("no kernel could be tried: {error}")),
    }
}

fn cpu() -> CpuProof {
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let values = |key: &str| -> Vec<&str> {
        info.lines()
            .filter_map(|line| line.split_once(':'))
            .filter(|(name, _)| name.trim() == key)
            .map(|(_, value)| value.trim())
            .collect()
    };
    let visible = u32::try_from(values("processor").len())
        .unwrap_or(u32::MAX)
        .max(1);
    let allowed = cores::allowed().unwrap_or(visible);
    let quota = cgroup::quota_cores();
    let (kernel_right, kernel_mega_flops) = kernel::multiply();
    CpuProof {
        model: values("model name").first().map(|name| (*name).to_owned()),
        visible_cores: visible,
        allowed_cores: allowed,
        quota_cores: quota,
        usable_cores: cores::usable(visible, allowed, quota),
        kernel_right,
        kernel_mega_flops: kernel_mega_flops.round(),
    }
}

fn memory() -> MemoryProof {
    let info = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let kibibytes = |key: &str| {
        info.lines()
            .find_map(|line| {
                line.strip_prefix(key)?
                    .strip_prefix(':')?
                    .trim()
                    .strip_suffix(" kB")
            })
            .and_then(|number| number.parse::<u64>().ok())
            .map_or(0, |count| count * 1024)
    };
    MemoryProof {
        total_bytes: kibibytes("MemTotal"),
        available_bytes: kibibytes("MemAvailable"),
        limit_bytes: cgroup::memory_limit(),
    }
}

/// Writes a file as large as half the free room allows, at most [`WRITTEN`], forces it to the disk and removes it.
fn written(home: &Path, unknown: &mut Vec<String>) -> io::Result<DiskProof> {
    let measured = disk::measure(home, None)?;
    let bytes = WRITTEN.min(measured.free_bytes / 2);
    let path = home.join(format!(".gpurun-proof.{}", std::process::id()));
    let began = Instant::now();
    let outcome = write_and_sync(&path, bytes);
    let seconds = began.elapsed().as_secs_f64().max(1e-9);
    let _ = fs::remove_file(&path);
    let written_bytes = match outcome {
        Ok(()) => bytes,
        Err(error) => {
            unknown.push(format!("{} can't be written: {error}", home.display()));
            0
        }
    };
    Ok(DiskProof {
        free_bytes: measured.free_bytes,
        total_bytes: measured.total_bytes,
        written_bytes,
        write_bytes_per_second: (written_bytes as f64 / seconds).round(),
    })
}

fn write_and_sync(path: &Path, bytes: u64) -> io::Result<()> {
    // Not all alike: some disks and file systems keep no zeros and no repetitions.
    let block: Vec<u8> = (0..1_u32 << 18)
        .flat_map(|word| word.wrapping_mul(2_654_435_761).to_le_bytes())
        .collect();
    let mut file = File::create(path)?;
    let mut left = bytes as usize;
    while left > 0 {
        let count = left.min(block.len());
        file.write_all(&block[..count])?;
        left -= count;
    }
    file.sync_all()
}

/// Asked of the box, not of this program, which may bring its own.
fn c_library() -> Option<String> {
    let output = std::process::Command::new("getconf")
        .arg("GNU_LIBC_VERSION")
        .output()
        .ok()
        .filter(|output| output.status.success())?;
    Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_proves_itself() {
        let home = tempfile::tempdir().unwrap();
        let proof = proof(home.path()).unwrap();
        assert!(proof.cpu.kernel_right);
        assert!(proof.cpu.usable_cores >= 1);
        assert!(proof.memory.total_bytes > 0);
        assert!(proof.disk.written_bytes > 0, "{proof:?}");
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 0);
    }
}
