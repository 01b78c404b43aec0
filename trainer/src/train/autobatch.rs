//! `batch = -1`: the largest power of two that fits the GPU.
//!
//! LibreYOLO's arithmetic (its AutoBatch), with a probe that does what training does.

use tch::{Device, Kind, Tensor};

use super::error::TrainError;
use super::follow::catch;
use super::precision::Precision;
use crate::config::{Code, TrainConfig};
use crate::loss::{Loss, pad_targets};
use crate::model::Network;
use crate::shim::device::{cuda_memory, empty_cache, reset_peak};

/// Of a device that can't be measured, and where measuring says nothing.
pub(super) const FALLBACK: u32 = 16;
/// Of the card's memory; the rest is room for what no probe sees.
const FRACTION: f64 = 0.60;
/// A probe that takes more of the card's memory is the last.
const LAST_PROBE: f64 = 0.90;
const LARGEST_PROBE: u32 = 64;
const LARGEST: u32 = 1024;

/// A device whose memory a training step is measured on.
pub(super) trait MemoryProbe {
    /// Of the whole card, in bytes.
    fn total(&self) -> Result<u64, TrainError>;

    /// The most that a step with so many images took, in bytes; none when it didn't fit.
    fn peak(&mut self, images: u32) -> Result<Option<u64>, TrainError>;
}

/// What was found out.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Found {
    pub(super) batch: u32,
    /// Images and bytes of each probe.
    pub(super) points: Vec<(u32, u64)>,
}

/// Images that one card trains on at once: powers of two are probed, a line through the memory they took is
/// laid, and the largest power of two strictly below where it meets 60 % of the card is taken.
pub(super) fn largest_batch(probe: &mut dyn MemoryProbe) -> Result<Found, TrainError> {
    let total = probe.total()? as f64;
    let mut points = vec![];
    let mut images = 1;
    while images <= LARGEST_PROBE {
        let Some(bytes) = probe.peak(images)? else {
            break;
        };
        points.push((images, bytes));
        if bytes as f64 > LAST_PROBE * total {
            break;
        }
        images *= 2;
    }
    let batch = match line(&points) {
        Some((slope, intercept)) if slope > 0.0 => {
            power_of_two_below((FRACTION * total - intercept) / slope)
        }
        _ => FALLBACK,
    };
    Ok(Found { batch, points })
}

/// Slope and intercept by least squares; none with fewer than two points.
fn line(points: &[(u32, u64)]) -> Option<(f64, f64)> {
    if points.len() < 2 {
        return None;
    }
    let count = points.len() as f64;
    let mean = |values: &mut dyn Iterator<Item = f64>| values.sum::<f64>() / count;
    let x = mean(&mut points.iter().map(|(images, _)| f64::from(*images)));
    let y = mean(&mut points.iter().map(|(_, bytes)| *bytes as f64));
    let (mut along, mut square) = (0.0, 0.0);
    for (images, bytes) in points {
        let dx = f64::from(*images) - x;
        along += dx * (*bytes as f64 - y);
        square += dx * dx;
    }
    let slope = along / square;
    Some((slope, y - slope * x))
}

/// The largest power of two strictly below `raw`, from 1 to 1024.
fn power_of_two_below(raw: f64) -> u32 {
    let mut batch = 1;
    while batch < LARGEST && f64::from(batch * 2) < raw {
        batch *= 2;
    }
    batch
}

/// The batch of `world` devices: measured on this one when it is a card.
///
/// # Errors
/// When a probe fails for another reason than memory.
pub(super) fn choose(
    config: &TrainConfig,
    model: &Network,
    most_targets: impl FnOnce() -> usize,
    world: u32,
) -> Result<u32, TrainError> {
    let Device::Cuda(card) = model.device() else {
        let batch = FALLBACK.next_multiple_of(world);
        tracing::info!("AutoBatch: non-CUDA device (cpu) - keeping batch={batch}");
        return Ok(batch);
    };
    let mut probe = CardProbe {
        card,
        config,
        model,
        most_targets: most_targets(),
    };
    let found = largest_batch(&mut probe)?;
    for (images, bytes) in &found.points {
        let share = *bytes as f64 / probe.total()? as f64 * 100.0;
        tracing::info!("AutoBatch: {images} images take {bytes} bytes, {share:.0} % of the card");
    }
    let batch = found.batch * world;
    tracing::info!("AutoBatch: batch={batch}, {} on each device", found.batch);
    Ok(batch)
}

/// Trains on noise and forgets it.
struct CardProbe<'a> {
    card: usize,
    config: &'a TrainConfig,
    model: &'a Network,
    most_targets: usize,
}

impl MemoryProbe for CardProbe<'_> {
    fn total(&self) -> Result<u64, TrainError> {
        Ok(cuda_memory(self.card)?.total)
    }

    fn peak(&mut self, images: u32) -> Result<Option<u64>, TrainError> {
        empty_cache()?;
        reset_peak(self.card)?;
        let statistics = self.model.statistics();
        let step = catch(|| self.step(images));
        self.model.restore_statistics(&statistics);
        match step {
            Ok(()) => {}
            Err(error) if error.code == Code::OutOfMemory => {
                empty_cache()?;
                return Ok(None);
            }
            Err(error) => return Err(error),
        }
        let used = cuda_memory(self.card)?.peak_allocated;
        Ok(Some(
            u64::try_from(used).unwrap_or(0) + self.optimizer_bytes(),
        ))
    }
}

impl CardProbe<'_> {
    fn step(&self, images: u32) -> Result<(), TrainError> {
        let side = i64::from(self.config.imgsz);
        let device = self.model.device();
        let pixels = Tensor::f_rand([i64::from(images), 3, side, side], (Kind::Float, device))?;
        let target = [0.0, 0.25, 0.25, 0.75, 0.75];
        let targets = vec![vec![target; self.most_targets]; images as usize];
        let precision = Precision::of(self.config, device, None);
        let outputs = precision.run(device, || self.model.forward_train(&pixels))?;
        let loss = Loss::new(self.model.family(), self.config.aux_weight, None);
        let items = loss.compute(&outputs, &pad_targets(&targets));
        items.total.f_backward()?;
        for mut parameter in self.model.parameters() {
            parameter.tensor.zero_grad();
        }
        Ok(())
    }

    /// What the first step of the optimizer adds to stay.
    fn optimizer_bytes(&self) -> u64 {
        let buffers = self.config.optimizer.buffers().len() as u64;
        let values: usize = self
            .model
            .parameters()
            .iter()
            .map(|p| p.tensor.numel())
            .sum();
        values as u64 * 4 * buffers
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A card that fits whatever takes less than its memory.
    struct Card {
        total: u64,
        fixed: u64,
        per_image: u64,
        probes: Vec<u32>,
    }

    impl MemoryProbe for Card {
        fn total(&self) -> Result<u64, TrainError> {
            Ok(self.total)
        }

        fn peak(&mut self, images: u32) -> Result<Option<u64>, TrainError> {
            self.probes.push(images);
            let bytes = self.fixed + u64::from(images) * self.per_image;
            Ok((bytes <= self.total).then_some(bytes))
        }
    }

    fn card(total: u64, fixed: u64, per_image: u64) -> (Found, Vec<u32>) {
        let mut card = Card {
            total,
            fixed,
            per_image,
            probes: vec![],
        };
        (largest_batch(&mut card).unwrap(), card.probes)
    }

    /// LibreYOLO's table.
    #[test]
    fn the_floor_is_strict() {
        for (raw, batch) in [
            (0.5, 1),
            (2.0, 1),
            (2.1, 2),
            (4.0, 2),
            (4.1, 4),
            (32.0, 16),
            (33.0, 32),
            (64.0, 32),
            (65.0, 64),
            (1e9, 1024),
            (-3.0, 1),
        ] {
            assert_eq!(power_of_two_below(raw), batch, "{raw}");
        }
    }

    #[test]
    fn sixty_percent_of_the_card_is_filled() {
        // (0.6 * 24000 - 2000) / 300 = 41.3
        let (found, probes) = card(24_000, 2000, 300);
        assert_eq!(found.batch, 32);
        assert_eq!(probes, [1, 2, 4, 8, 16, 32, 64]);
        // 90 % are full at 16: the last probe.
        let (found, probes) = card(1000, 100, 52);
        assert_eq!((found.batch, probes), (8, vec![1, 2, 4, 8, 16]));
        // 16 don't fit.
        let (found, probes) = card(1000, 100, 70);
        assert_eq!((found.batch, probes), (4, vec![1, 2, 4, 8, 16]));
    }

    #[test]
    fn too_little_to_measure_takes_the_fallback() {
        assert_eq!(card(1000, 100, 600).0.batch, FALLBACK);
        assert_eq!(card(1000, 100, 0).0.batch, FALLBACK);
    }
}
