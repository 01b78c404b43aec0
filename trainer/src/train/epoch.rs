//! The steps of one epoch.

use std::time::Instant;

use tch::{Device, Kind, Tensor};

use super::error::TrainError;
use super::learner::Learner;
use crate::checkpoint::Position;
use crate::config::Code;
use crate::data::{Batch, Epoch};
use crate::dist::{Collective, Group};
use crate::loss::LossItems;
use crate::model::Family;
use crate::run_dir::Progress;
use crate::signal::Signals;

/// Sums over the batches of an epoch; their means are what is reported.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct LossSums {
    /// Batches learnt from. As many steps, unless a step takes several.
    pub(super) steps: u64,
    pub(super) total: f64,
    /// In the order of the family's parts.
    pub(super) parts: Vec<f64>,
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

/// Whether all processes of a training take the next batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    Take,
    /// One has no image for it.
    Skip,
    /// One was told to stop.
    Stop,
}

/// What a step is made of.
enum Gathered {
    /// None of them may have an image.
    Batches(Vec<Batch>),
    Stop,
    /// The epoch has no more.
    End,
}

impl Learner {
    /// Trains through an epoch's batches, from where an earlier process stopped in it. `tick` is told of each step.
    ///
    /// # Errors
    /// When an operation fails, the loss is no number, no image can be used, or another process is gone.
    pub(super) fn train_epoch(
        &mut self,
        epoch: u32,
        position: Option<Position>,
        signals: &Signals,
        mut tick: impl FnMut(Progress),
    ) -> Result<EpochEnd, TrainError> {
        let begin = Instant::now();
        let has_mosaics = (epoch as usize) < self.mosaic_epochs;
        self.loss.set_mosaics(has_mosaics);
        let mut sums = position
            .as_ref()
            .map_or_else(|| LossSums::of(self.model.family()), LossSums::from);
        let mut images = 0.0;
        let first_batch = position.map_or(0, |position| position.batch);
        let first_batch = usize::try_from(first_batch).unwrap_or(usize::MAX);
        let mut batches = self.loader.epoch_from(epoch as usize, first_batch);
        loop {
            let at = batches.position();
            self.set_rates(self.steps_before(epoch, at));
            let gathered = match self.gather(&mut batches, signals)? {
                Gathered::Batches(gathered) => gathered,
                Gathered::Stop => return Ok(EpochEnd::Stopped(sums.at(at))),
                Gathered::End => break,
            };
            if gathered.is_empty() {
                continue;
            }
            let items = self.train_step(&gathered)?;
            images += sums.add(&items, &gathered, self.group)?;
            let elapsed = begin.elapsed();
            tick(Progress {
                step: sums.steps,
                elapsed,
                parts: self.parts,
                images_per_second: images / elapsed.as_secs_f64().max(1e-9),
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

    /// Steps of the run before the one that begins with batch `at` of an epoch.
    fn steps_before(&self, epoch: u32, at: usize) -> u64 {
        let steps = |batches: usize| batches.div_ceil(self.batches_per_step) as u64;
        u64::from(epoch) * steps(self.loader.batches()) + steps(at)
    }

    /// The batches of the next step, but for those without a usable image. A step is begun with all of its batches or
    /// not at all, so that a run that is stopped before it goes on with it whole.
    fn gather(&self, batches: &mut Epoch, signals: &Signals) -> Result<Gathered, TrainError> {
        let mut gathered = vec![];
        for number in 0..self.batches_per_step {
            let Some(share) = batches.next_share() else {
                return Ok(match number {
                    0 => Gathered::End,
                    _ => Gathered::Batches(gathered),
                });
            };
            match (self.agree(signals, share.is_some())?, share) {
                (Next::Stop, _) => return Ok(Gathered::Stop),
                (Next::Take, Some(batch)) => gathered.push(batch),
                _ => {}
            }
        }
        Ok(Gathered::Batches(gathered))
    }

    /// What all processes do next. They must do the same: each waits for the others in every step.
    fn agree(&self, signals: &Signals, has_images: bool) -> Result<Next, TrainError> {
        let (stop, skip) = (signals.stop().is_some(), !has_images);
        let (stop, skip) = match self.group {
            None => (stop, skip),
            Some(group) => {
                let votes = Tensor::from_slice(&[f32::from(stop), f32::from(skip)]);
                group.all_reduce_sum(&votes)?;
                let votes = Vec::<f32>::try_from(votes)?;
                (votes[0] > 0.0, votes[1] > 0.0)
            }
        };
        if stop {
            return Ok(Next::Stop);
        }
        if skip {
            if has_images {
                tracing::warn!("left out: a batch of which another process can read no image");
            }
            return Ok(Next::Skip);
        }
        Ok(Next::Take)
    }

    /// Learning rate and momentum of the step with this index in the run.
    fn set_rates(&mut self, step: u64) {
        self.optimizer
            .set_learning_rate(self.schedule.learning_rate(step));
        self.optimizer.set_momentum(self.schedule.momentum(step));
    }

    /// Names each thing the loader left out, once.
    pub(super) fn name_skips(&self) {
        for skip in self.loader.take_skips() {
            tracing::warn!("left out: {skip}");
        }
    }
}

impl LossSums {
    /// Before the first step.
    fn of(family: Family) -> Self {
        Self {
            steps: 0,
            total: 0.0,
            parts: vec![0.0; family.loss_parts().len()],
        }
    }

    /// Where the epoch stands, with this batch to come.
    pub(super) fn at(&self, batch: usize) -> Position {
        Position {
            step: self.steps,
            batch: batch as u64,
            loss_sums: [&[self.total], self.parts.as_slice()].concat(),
        }
    }

    /// Adds a step of some batches, whose mean loss is given, and gives the number of their images: those of all
    /// processes.
    fn add(
        &mut self,
        items: &LossItems,
        batches: &[Batch],
        group: Option<&Group>,
    ) -> Result<f64, TrainError> {
        let images: usize = batches.iter().map(Batch::len).sum();
        let mut figures = vec![items.total.detach()];
        figures.extend(items.parts.iter().map(Tensor::shallow_clone));
        let figures = Tensor::stack(&figures, 0)
            .to_kind(Kind::Double)
            .to_device(Device::Cpu);
        let images = Tensor::from(images as f64).view(1);
        let figures = Tensor::cat(&[figures, images], 0);
        if let Some(group) = group {
            group.all_reduce_sum(&figures)?;
        }
        let figures = Vec::<f64>::try_from(figures)?;
        self.steps += batches.len() as u64;
        if figures.iter().any(|figure| !figure.is_finite()) {
            let message = format!(
                "the loss is {} at step {} of the epoch",
                figures[0], self.steps
            );
            return Err(
                TrainError::new(Code::Diverged, "FloatingPointError", message)
                    .suggest("Try a smaller lr0; last.pt holds the state before this epoch"),
            );
        }
        let batches = batches.len() as f64;
        self.total += figures[0] * batches;
        for (sum, part) in self.parts.iter_mut().zip(&figures[1..]) {
            *sum += part * batches;
        }
        Ok(figures[figures.len() - 1])
    }
}

impl From<&Position> for LossSums {
    fn from(position: &Position) -> Self {
        let (total, parts) = position.loss_sums.split_first().unwrap_or((&0.0, &[]));
        LossSums {
            steps: position.step,
            total: *total,
            parts: parts.to_vec(),
        }
    }
}
