//! Randomness that depends on what is drawn for, not on who draws when.

use fastrand::Rng;

/// A generator for one sample of one epoch.
pub(super) fn for_sample(seed: u64, epoch: usize, index: usize) -> Rng {
    Rng::with_seed(mix(mix(mix(seed) ^ epoch as u64) ^ index as u64))
}

/// A generator for the order of one epoch.
pub(super) fn for_order(seed: u64, epoch: usize) -> Rng {
    Rng::with_seed(mix(mix(!seed) ^ epoch as u64))
}

/// Uniform in `[low, high)`; `low` when they are equal.
pub(super) fn uniform(random: &mut Rng, low: f64, high: f64) -> f64 {
    low + (high - low) * random.f64()
}

/// Spreads neighbouring numbers over the whole range (the finaliser of SplitMix64, Steele et al. 2014).
fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

#[cfg(test)]
pub(super) mod tests {
    use gpurun_dataset::RgbImage;

    use super::*;

    /// The cases of one kind in `tests/data/cv2_golden.json`.
    pub(in super::super) fn golden(kind: &str) -> Vec<serde_json::Value> {
        let text = include_str!("../../tests/data/cv2_golden.json");
        let mut all: serde_json::Value = serde_json::from_str(text).expect("the file is JSON");
        serde_json::from_value(all[kind].take()).expect("a list of cases")
    }

    /// The picture `make_cv2_golden.py` draws.
    pub(in super::super) fn picture(width: u32, height: u32) -> RgbImage {
        let mut pixels = Vec::new();
        for y in 0..height {
            for x in 0..width {
                for channel in 0..3 {
                    pixels.push(((x * 7 + y * 11 + channel * 83 + (x * y * 5) % 97) % 256) as u8);
                }
            }
        }
        RgbImage {
            width,
            height,
            pixels,
        }
    }

    #[test]
    fn every_sample_of_every_epoch_draws_its_own_numbers() {
        let first = |seed, epoch, index| for_sample(seed, epoch, index).u64(..);
        assert_eq!(first(0, 1, 2), first(0, 1, 2));
        let mut drawn: Vec<u64> = (0..3)
            .flat_map(|seed| {
                (0..10).flat_map(move |epoch| (0..10).map(move |index| first(seed, epoch, index)))
            })
            .chain((0..10).map(|epoch| for_order(0, epoch).u64(..)))
            .collect();
        drawn.sort_unstable();
        drawn.dedup();
        assert_eq!(drawn.len(), 310);
    }
}
