//! Whether the GPUs that a box has are those that were rented.

use gpurun_pricing::GpuRequest;
use gpurun_protocol::proof::GpuProof;
use std::num::NonZeroU32;

/// What is wrong with the GPUs that the box's driver shows, in words; `None` when they are as offered.
pub(super) fn fault(offered: &GpuRequest, found: &[GpuProof]) -> Option<String> {
    let wanted = offered.count();
    if wanted == 0 {
        return None;
    }
    let count = u32::try_from(found.len()).unwrap_or(u32::MAX);
    if count != wanted {
        return Some(format!(
            "{} was rented, and the box has {count} of its {wanted} GPUs",
            offered.describe()
        ));
    }
    let other = found.iter().find(|gpu| !is(offered, gpu))?;
    let memory = other
        .memory_bytes
        .map_or_else(String::new, |bytes| format!(" with {} MiB", bytes >> 20));
    Some(format!(
        "{} was rented, and GPU {} of the box is a {}{memory}",
        offered.describe(),
        other.index,
        other.name
    ))
}

/// A card that nobody here has heard of is believed; its computation was right.
fn is(offered: &GpuRequest, gpu: &GpuProof) -> bool {
    let memory = gpu
        .memory_bytes
        .and_then(|bytes| u32::try_from(bytes >> 20).ok());
    let Some(memory) = memory else { return true };
    let found = GpuRequest::of_cards(&gpu.name, memory, NonZeroU32::MIN);
    found.is_none_or(|found| offered.with_count(NonZeroU32::MIN).is_met_by(&found))
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpurun_protocol::proof::Kernel;

    fn card(index: u32, name: &str, mebibytes: u64) -> GpuProof {
        GpuProof {
            index,
            name: name.to_owned(),
            memory_bytes: Some(mebibytes << 20),
            kernel: Kernel::Untried,
        }
    }

    #[test]
    fn a_missing_or_a_smaller_card_is_told() -> Result<(), Box<dyn std::error::Error>> {
        let rented: GpuRequest = "a100-80x2".parse()?;
        let big = |index| card(index, "NVIDIA A100-SXM4-80GB", 81_920);
        assert_eq!(fault(&rented, &[big(0), big(1)]), None);
        let one = fault(&rented, &[big(0)]).ok_or("one is enough")?;
        assert!(one.contains("has 1 of its 2 GPUs"), "{one}");
        let small = card(1, "NVIDIA A100-SXM4-40GB", 40_960);
        let small = fault(&rented, &[big(0), small]).ok_or("40 GB are enough")?;
        assert!(
            small.contains("GPU 1") && small.contains("40960 MiB"),
            "{small}"
        );
        let new = || card(0, "NVIDIA Z9000", 200_000);
        assert_eq!(fault(&"4090".parse()?, &[new()]), None);
        assert_eq!(fault(&GpuRequest::Cpu, &[]), None);
        assert!(fault(&"4090".parse()?, &[]).is_some());
        Ok(())
    }
}
