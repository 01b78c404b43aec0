//! One step: forward, backward, optimizer, average. Several batches may make one step, and a batch that doesn't fit the
//! memory is taken in parts.

use tch::{Device, Kind, Tensor};

use super::error::TrainError;
use super::follow::catch;
use super::learner::{Learner, flatten, unflatten};
use crate::config::Code;
use crate::data::Batch;
use crate::dist::Collective;
use crate::loss::{LossItems, pad_targets};
use crate::model::Pixels;
use crate::shim::device::empty_cache;

impl Learner {
    /// Learns from batches, whose losses are averaged. Out of memory, it tries again with each batch in twice as many
    /// parts, and keeps to that: the step stays the batches', only batch statistics are each part's own.
    ///
    /// # Errors
    /// When an operation fails, or one image alone doesn't fit.
    pub(super) fn train_step(&mut self, batches: &[Batch]) -> Result<LossItems, TrainError> {
        let largest = batches.iter().map(Batch::len).max().unwrap_or(0);
        loop {
            match catch(|| self.try_step(batches)) {
                Err(error) if error.code == Code::OutOfMemory && self.can_halve(largest) => {
                    self.parts *= 2;
                    if self.device.is_cuda() {
                        empty_cache()?;
                    }
                    tracing::warn!(
                        "{error}: going on from the last step with batches of {} in {} parts",
                        largest,
                        self.parts
                    );
                }
                result => return result,
            }
        }
    }

    /// Several processes can't: the others wait for this one's part of the step that failed.
    fn can_halve(&self, images: usize) -> bool {
        self.group.is_none() && self.parts < images
    }

    fn try_step(&mut self, batches: &[Batch]) -> Result<LossItems, TrainError> {
        self.optimizer.zero_grad()?;
        let mut whole: Option<LossItems> = None;
        for batch in batches {
            let images = to_input(batch, self.device, self.model.family().pixels())?;
            let size = batch.len().div_ceil(self.parts);
            for start in (0..batch.len()).step_by(size) {
                let length = size.min(batch.len() - start);
                let part = images.f_narrow(0, start as i64, length as i64)?;
                let targets = &batch.targets[start..start + length];
                let share = length as f64 / batch.len() as f64 / batches.len() as f64;
                let items = self.backward(&part, targets, share)?;
                whole = Some(match whole {
                    Some(whole) => whole.plus(&items),
                    None => items,
                });
            }
        }
        self.sum_gradients()?;
        if self.precision.unscale(|| self.optimizer.gradients())? {
            self.optimizer.step()?;
        }
        if let Some(ema) = &mut self.ema {
            ema.update(&self.model)?;
        }
        whole.ok_or_else(|| {
            TrainError::new(Code::DataInvalid, "ValueError", "a batch without images")
        })
    }

    /// Adds a part's gradients, and gives its share of the step's loss.
    fn backward(
        &self,
        images: &Tensor,
        targets: &[Vec<[f32; 5]>],
        share: f64,
    ) -> Result<LossItems, TrainError> {
        #[cfg(test)]
        if self.room.is_some_and(|room| targets.len() > room) {
            return Err(TrainError::new(
                Code::OutOfMemory,
                "OutOfMemoryError",
                "CUDA out of memory",
            ));
        }
        let outputs = self
            .precision
            .run(self.device, || self.model.forward_train(images))?;
        let items = self.loss.compute(&outputs, &pad_targets(targets));
        let items = if share < 1.0 {
            items.scaled(share)
        } else {
            items
        };
        self.precision.scaled(&items.total).f_backward()?;
        Ok(LossItems {
            total: items.total.detach(),
            ..items
        })
    }

    /// Each process's loss is its share of the batch's, so the sum of their gradients is the batch's.
    fn sum_gradients(&self) -> Result<(), TrainError> {
        let Some(group) = self.group else {
            return Ok(());
        };
        let gradients = self.optimizer.gradients();
        let flat = flatten(&gradients);
        group.all_reduce_sum(&flat)?;
        unflatten(&flat, &gradients);
        Ok(())
    }
}

/// A batch's pixels on the device as a network wants them, `[B, 3, H, W]`.
pub(super) fn to_input(
    batch: &Batch,
    device: Device,
    pixels: Pixels,
) -> Result<Tensor, TrainError> {
    let shape = [
        batch.len() as i64,
        3,
        i64::from(batch.height),
        i64::from(batch.width),
    ];
    let bytes = Tensor::f_from_data_size(&batch.images, &shape, Kind::Uint8)?;
    let floats = bytes.f_to_device(device)?.f_to_kind(Kind::Float)?;
    let pixels = match pixels {
        Pixels::Rgb => floats / 255.0,
        Pixels::Bgr255 => floats.f_flip([1])?,
    };
    if device == Device::Cpu {
        // Convolutions on a CPU are faster with NHWC in memory.
        return Ok(pixels
            .f_permute([0, 2, 3, 1])?
            .f_contiguous()?
            .f_permute([0, 3, 1, 2])?);
    }
    Ok(pixels)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use gpurun_dataset::shapes::{ShapesConfig, generate};
    use gpurun_dataset::{DataConfig, Split};

    use super::*;
    use crate::config::TrainConfig;
    use crate::model::{Architecture, Yolo9Size};
    use crate::train::source::Source;
    use crate::train::state::State;

    fn learner(dir: &Path) -> Learner {
        let shapes = ShapesConfig {
            train: 8,
            val: 1,
            size: 64,
            seed: 1,
        };
        generate(dir, shapes).unwrap();
        let data = DataConfig::load(&dir.join("data.yaml")).unwrap();
        let mut config = TrainConfig {
            batch: 8,
            imgsz: 64,
            workers: 1,
            ..TrainConfig::default()
        };
        let classes = data.names.len();
        let source = Source::Scratch(Architecture::Yolo9(Yolo9Size::T));
        let state = State::build(&config, source, classes, Device::Cpu).unwrap();
        let train = data.read(Split::Train).unwrap();
        Learner::new(&mut config, classes, train, state, None).unwrap()
    }

    #[test]
    fn a_batch_that_does_not_fit_is_taken_in_parts() {
        let dir = tempfile::tempdir().unwrap();
        let mut learner = learner(dir.path());
        let batch = learner.loader.epoch(0).next().unwrap();
        assert_eq!(batch.len(), 8);
        learner.room = Some(3);
        let before = learner.model.parameters()[0].tensor.copy();
        let batch = [batch];
        let items = learner.train_step(&batch).unwrap();
        assert_eq!(learner.parts, 4);
        assert!(items.total.double_value(&[]).is_finite());
        let parts: Tensor = items.parts.iter().sum();
        assert!((parts - &items.total).double_value(&[]).abs() < 1e-3);
        assert!(!learner.model.parameters()[0].tensor.equal(&before));
        // It keeps to that: nothing fails any more.
        learner.train_step(&batch).unwrap();
        assert_eq!(learner.parts, 4);
    }

    #[test]
    fn one_image_too_large_ends_it() {
        let dir = tempfile::tempdir().unwrap();
        let mut learner = learner(dir.path());
        let batch = learner.loader.epoch(0).next().unwrap();
        learner.room = Some(0);
        let error = learner.train_step(&[batch]).unwrap_err();
        assert_eq!(error.code, Code::OutOfMemory);
        assert_eq!(learner.parts, 8);
    }

    /// Parts weighed by their images give the batch's gradient, where normalisation doesn't come in between.
    #[test]
    fn parts_sum_to_the_whole() {
        let dir = tempfile::tempdir().unwrap();
        let mut learner = learner(dir.path());
        // Frozen layers normalise by their statistics, so that images don't depend on each other.
        learner.model.freeze(&["backbone", "neck", "aux"]);
        let batch = [learner.loader.epoch(0).next().unwrap()];
        let gradient = |learner: &mut Learner, parts: usize| {
            learner.parts = parts;
            learner.optimizer.set_learning_rate(0.0);
            learner.train_step(&batch).unwrap();
            let last = learner.model.parameters().pop().unwrap();
            last.tensor.grad().copy()
        };
        let (whole, parts) = (gradient(&mut learner, 1), gradient(&mut learner, 2));
        let cosine = (&whole * &parts).sum(Kind::Float) / (whole.norm() * parts.norm());
        assert!(cosine.double_value(&[]) > 0.95, "{cosine:?}");
    }

    /// The gradient of two batches is the mean of theirs, where normalisation keeps nothing of one for the other.
    #[test]
    fn batches_of_a_step_are_averaged() {
        let dir = tempfile::tempdir().unwrap();
        let mut learner = learner(dir.path());
        learner.model.freeze(&["backbone", "neck", "aux"]);
        let batch = || learner.loader.epoch(0).next().unwrap();
        let (first, mut second) = (batch(), batch());
        second.images.reverse();
        let mut gradient = |batches: &[Batch]| {
            learner.optimizer.set_learning_rate(0.0);
            let items = learner.train_step(batches).unwrap();
            let last = learner.model.parameters().pop().unwrap();
            (items.total.double_value(&[]), last.tensor.grad().copy())
        };
        let both = [first, second];
        let (one, other) = (gradient(&both[..1]), gradient(&both[1..]));
        let (loss, mean) = gradient(&both);
        assert!(
            (loss - (one.0 + other.0) / 2.0).abs() < 1e-4 * loss,
            "{loss}"
        );
        let difference = (&mean - (one.1 + other.1) / 2.0).norm() / mean.norm();
        assert!(difference.double_value(&[]) < 1e-4, "{difference:?}");
    }
}
