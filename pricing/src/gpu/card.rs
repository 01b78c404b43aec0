//! GPUs that are there, told by the name and the memory they really have.

use std::num::NonZeroU32;

use super::model::GpuModel;
use super::request::{GpuRequest, GpuSelection};

/// How far measured memory may be from what the maker states.
const TOLERANCE_PERCENT: u64 = 5;

impl GpuRequest {
    /// So many cards of this name with so much memory each: what an offer or a driver shows. A name alone doesn't tell an
    /// A100 of 40 GB from one of 80, nor a 4090 from one with twice its memory. `None` where no GPU of the table fits.
    pub fn of_cards(name: &str, memory_mib: u32, count: NonZeroU32) -> Option<Self> {
        let Ok(Self::Gpus(named)) = name.parse() else {
            return None;
        };
        let found = named.of_memory(memory_mib)?;
        Some(Self::Gpus(found).with_count(count))
    }
}

impl GpuSelection {
    /// The same, its memory told by a measured one.
    fn of_memory(self, memory_mib: u32) -> Option<Self> {
        // A bare name stands for the ordinary card: whatever memory was said or left out, the measured one counts.
        let any = |memory_gb| {
            let mut selection = self.clone();
            selection.memory_gb = memory_gb;
            selection
        };
        let sizes = super::MODELS
            .iter()
            .filter(|model| self.is_of_family(model) && has_memory(model, memory_mib));
        let found = sizes.map(|model| any(model.memory_in_name.then_some(model.memory_gb)));
        let mut found = found.filter(|selection| selection.models().next().is_some());
        found.next()
    }
}

/// Makers state decimal or binary gigabytes as they please.
fn has_memory(model: &GpuModel, memory_mib: u32) -> bool {
    let memory = u64::from(memory_mib) << 20;
    let near = |nominal: u64| memory.abs_diff(nominal) * 100 <= nominal * TOLERANCE_PERCENT;
    let gigabytes = u64::from(model.memory_gb);
    near(gigabytes << 30) || near(gigabytes * 1_000_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str, memory_mib: u32) -> Option<String> {
        GpuRequest::of_cards(name, memory_mib, NonZeroU32::new(8)?).map(|gpu| gpu.to_string())
    }

    #[test]
    fn memory_tells_cards_of_one_name_apart() {
        let is = |name, memory_mib, canonical: &str| {
            assert_eq!(of(name, memory_mib).as_deref(), Some(canonical), "{name}");
        };
        is("RTX 4090", 24_564, "4090x8");
        is("RTX 4090", 49_140, "4090-48x8");
        is("A100 SXM4", 40_960, "a100-40-sxmx8");
        is("A100 SXM4", 81_920, "a100-80-sxmx8");
        is("A100 PCIE", 81_920, "a100-80-pciex8");
        is("H100 SXM", 81_559, "h100-sxmx8");
        is("NVIDIA H200", 143_771, "h200x8");
        is("B300 PC", 275_040, "b300x8");
        is("Tesla V100", 32_768, "v100-32x8");
        is("Tesla V100", 16_384, "v100x8");
    }

    #[test]
    fn what_fits_no_card_is_none() {
        assert_eq!(of("RTX 4090", 12_000), None, "not within 5 %");
        assert_eq!(of("GTX 1080", 8192), None);
        assert_eq!(of("GH200 SXM", 97_871), None, "aarch64");
        assert_eq!(of("cpu", 0), None);
    }
}
