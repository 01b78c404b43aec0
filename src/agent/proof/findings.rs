//! What a measured box's numbers mean, in words: pure.

use gpurun_protocol::proof::{Finding, Kernel, Proof, Severity};

const GIB: u64 = 1 << 30;

/// Data loader processes hand batches over through shared memory: a container's default of 64 MB ends in bus errors.
const SHARED_MEMORY: u64 = GIB;
/// Room for an engine and one checkpoint.
const FREE_DISK: u64 = 2 * GIB;

/// `unknown` is what could not be measured.
pub(super) fn findings(proof: &Proof, unknown: Vec<String>) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut add = |severity, message: String| found.push(Finding { severity, message });
    if !proof.cpu.kernel_right {
        add(
            Severity::Fatal,
            "a matrix product on one core came out wrong: the machine computes falsely".to_owned(),
        );
    }
    for gpu in &proof.gpus {
        if let Kernel::Failed(why) = &gpu.kernel {
            let hint = if why.contains("NO_BINARY_FOR_GPU") || why.contains("UNSUPPORTED_PTX") {
                ": its driver can't make programs for it"
            } else {
                ""
            };
            add(
                Severity::Fatal,
                format!(
                    "GPU {} ({}) fails its first kernel{hint}: {why}",
                    gpu.index, gpu.name
                ),
            );
        }
    }
    if proof.disk.written_bytes == 0 {
        add(
            Severity::Fatal,
            "nothing could be written to the home's disk".to_owned(),
        );
    } else if proof.disk.free_bytes < FREE_DISK {
        add(
            Severity::Warning,
            format!(
                "only {} MB of the disk are free: an engine and checkpoints need more",
                proof.disk.free_bytes / 1_000_000
            ),
        );
    }
    match proof.shared_memory_bytes {
        Some(bytes) if bytes < SHARED_MEMORY => add(
            Severity::Warning,
            format!(
                "/dev/shm has {} MB: data loader processes may die of it; train with few workers or a larger --shm-size",
                bytes / 1_000_000
            ),
        ),
        Some(_) => {}
        None => add(
            Severity::Warning,
            "there is no /dev/shm: data loader processes can't share memory".to_owned(),
        ),
    }
    let cpu = &proof.cpu;
    if cpu.usable_cores < cpu.visible_cores {
        add(
            Severity::Warning,
            format!(
                "{} cores show, {} may be used: threads are to be capped at that",
                cpu.visible_cores, cpu.usable_cores
            ),
        );
    }
    for message in unknown {
        add(Severity::Warning, message);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use chrono::DateTime;
    use gpurun_protocol::proof::{CpuProof, DiskProof, MemoryProof};

    fn sound() -> Proof {
        Proof {
            schema_version: 1,
            at: DateTime::UNIX_EPOCH,
            cpu: CpuProof {
                model: None,
                visible_cores: 8,
                allowed_cores: 8,
                quota_cores: None,
                usable_cores: 8,
                kernel_right: true,
                kernel_mega_flops: 1000.0,
            },
            memory: MemoryProof {
                total_bytes: 32 * GIB,
                available_bytes: 30 * GIB,
                limit_bytes: None,
            },
            disk: DiskProof {
                free_bytes: 100 * GIB,
                total_bytes: 200 * GIB,
                written_bytes: 1,
                write_bytes_per_second: 1.0,
            },
            shared_memory_bytes: Some(8 * GIB),
            gpus: Vec::new(),
            driver: None,
            c_library: None,
            findings: Vec::new(),
        }
    }

    fn words(proof: &Proof) -> String {
        let found = findings(proof, Vec::new());
        found.into_iter().map(|finding| finding.message).collect()
    }

    #[test]
    fn a_sound_box_has_no_findings() {
        assert_eq!(words(&sound()), "");
    }

    #[test]
    fn a_container_s_default_shared_memory_is_said_in_words() {
        let mut proof = sound();
        proof.shared_memory_bytes = Some(64 << 20);
        assert!(words(&proof).contains("/dev/shm has 67 MB"));
    }

    #[test]
    fn a_quota_below_the_visible_cores_is_said_in_words() {
        let mut proof = sound();
        proof.cpu.visible_cores = 255;
        proof.cpu.usable_cores = 30;
        assert!(words(&proof).contains("255 cores show, 30 may be used"));
    }

    #[test]
    fn a_machine_that_computes_falsely_is_no_box() {
        let mut proof = sound();
        proof.cpu.kernel_right = false;
        assert_eq!(findings(&proof, Vec::new())[0].severity, Severity::Fatal);
    }
}
