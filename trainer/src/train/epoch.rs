//! The steps of one epoch.

use std::time::Instant;

use tch::{Device, Kind, Tensor};

use super::error::TrainError;
use super::session::Session;
use crate::checkpoint::Position;
use crate::config::Code;
use crate::data::Batch;
use crate::loss::{LossItems, pad_targets};
use crate::run_dir::Progress;
use crate::signal::Signals;

/// Sums over the steps of an epoch; their means are what is reported.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct LossSums {
    pub(super) steps: u64,
    pub(super) total: f64,
    pub(super) box_: f64,
    pub(super) cls: f64,
    pub(super) dfl: f64,
}

impl LossSums {
    pub(super) fn mean(&self, sum: f64) -> f64 {
        sum / self.steps.max(1) as f64
    }
}

/// How an epoch ended.
pub(super) enum EpochEnd {
    Done(LossSums),
    /// A signal came; the position goes into the checkpoint.
    Stopped(Position),
}

impl Session {
    /// Trains through the epoch's batches, from where an earlier process stopped in it.
    ///
    /// # Errors
    /// When an operation fails, the loss is no number, or no image can be used.
    pub(super) fn train_epoch(&mut self, signals: &Signals) -> Result<EpochEnd, TrainError> {
        let begin = Instant::now();
        let position = self.position.take();
        let mut sums = position
            .as_ref()
            .map_or_else(LossSums::default, LossSums::from);
        let first_step = sums.steps;
        let steps_per_epoch = self.loader.batches() as u64;
        let offset = u64::from(self.epoch) * steps_per_epoch;
        self.set_rates(offset + first_step);
        let mut images = 0;
        let first_batch = position.map_or(0, |position| position.batch);
        let first_batch = usize::try_from(first_batch).unwrap_or(usize::MAX);
        let mut batches = self.loader.epoch_from(self.epoch as usize, first_batch);
        loop {
            if signals.stop().is_some() {
                return Ok(EpochEnd::Stopped(sums.at(batches.position())));
            }
            let Some(batch) = batches.next() else { break };
            let items = self.train_step(&batch)?;
            sums.add(&items)?;
            self.set_rates(offset + sums.steps);
            images += batch.len();
            let elapsed = begin.elapsed();
            self.status.step(Progress {
                step: sums.steps,
                elapsed,
                images_per_second: images as f64 / elapsed.as_secs_f64().max(1e-9),
            });
        }
        self.name_skips();
        if sums.steps == 0 {
            let message = format!(
                "none of the {} training images can be read",
                self.loader.len()
            );
            return Err(TrainError::new(Code::DataInvalid, "ValueError", message));
        }
        Ok(EpochEnd::Done(sums))
    }

    fn train_step(&mut self, batch: &Batch) -> Result<LossItems, TrainError> {
        let images = to_input(batch, self.device)?;
        let targets = pad_targets(&batch.targets);
        self.sgd.zero_grad()?;
        let items = self
            .loss
            .compute(&self.model.forward_train(&images), &targets);
        items.total.f_backward()?;
        self.sgd.step()?;
        if let Some(ema) = &mut self.ema {
            ema.update(&self.model)?;
        }
        Ok(items)
    }

    /// Learning rate and momentum of the step with this index in the run.
    fn set_rates(&mut self, step: u64) {
        self.sgd
            .set_learning_rate(self.schedule.learning_rate(step));
        self.sgd.set_momentum(self.schedule.momentum(step));
    }

    /// Names each thing the loader left out, once.
    pub(super) fn name_skips(&self) {
        for skip in self.loader.take_skips() {
            tracing::warn!("left out: {skip}");
        }
    }
}

impl LossSums {
    /// Where the epoch stands, with this batch to come.
    pub(super) fn at(&self, batch: usize) -> Position {
        Position {
            step: self.steps,
            batch: batch as u64,
            loss_sums: [self.total, self.box_, self.cls, self.dfl],
        }
    }

    fn add(&mut self, items: &LossItems) -> Result<(), TrainError> {
        let parts = Tensor::stack(
            &[&items.total.detach(), &items.box_, &items.cls, &items.dfl],
            0,
        );
        let parts = Vec::<f64>::try_from(parts.to_kind(Kind::Double).to_device(Device::Cpu))?;
        self.steps += 1;
        if parts.iter().any(|part| !part.is_finite()) {
            let message = format!(
                "the loss is {} at step {} of the epoch",
                parts[0], self.steps
            );
            return Err(
                TrainError::new(Code::Diverged, "FloatingPointError", message)
                    .suggest("Try a smaller lr0; last.pt holds the state before this epoch"),
            );
        }
        self.total += parts[0];
        self.box_ += parts[1];
        self.cls += parts[2];
        self.dfl += parts[3];
        Ok(())
    }
}

impl From<&Position> for LossSums {
    fn from(position: &Position) -> Self {
        let [total, box_, cls, dfl] = position.loss_sums;
        LossSums {
            steps: position.step,
            total,
            box_,
            cls,
            dfl,
        }
    }
}

/// A batch's pixels on the device as `[B, 3, H, W]`, RGB from 0 to 1.
pub(super) fn to_input(batch: &Batch, device: Device) -> Result<Tensor, TrainError> {
    let shape = [
        batch.len() as i64,
        3,
        i64::from(batch.height),
        i64::from(batch.width),
    ];
    let bytes = Tensor::f_from_data_size(&batch.images, &shape, Kind::Uint8)?;
    let pixels = bytes.f_to_device(device)?.f_to_kind(Kind::Float)? / 255.0;
    if device == Device::Cpu {
        // Convolutions on a CPU are faster with NHWC in memory.
        return Ok(pixels
            .f_permute([0, 2, 3, 1])?
            .f_contiguous()?
            .f_permute([0, 3, 1, 2])?);
    }
    Ok(pixels)
}
