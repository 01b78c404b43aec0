//! The loop over the epochs.

use std::time::Instant;

use gpurun_protocol::metrics::EpochRow;
use gpurun_protocol::status::RunError;
use indexmap::IndexMap;
use serde_json::Value;

use super::epoch::{EpochEnd, LossSums};
use super::error::TrainError;
use super::follow::{Verdict, catch, explained, follow};
use super::outcome::Outcome;
use super::session::Session;
use super::setup::Setup;
use super::validate::Validation;
use crate::dist::Collective;
use crate::run_dir::log;
use crate::signal::Signals;

/// The metric that decides which epoch is best.
pub(super) const BEST_METRIC: &str = "metrics/mAP50-95";

/// Trains to the end, or to a signal. Of several processes, all but the first come to no outcome.
///
/// # Errors
/// What ended the run; its status.json tells the same.
pub fn train(setup: Setup, signals: &Signals) -> Result<Option<Outcome>, TrainError> {
    let group = setup.group;
    if let Some(group) = group.filter(|group| group.rank() > 0) {
        return follow(setup, group, signals).map(|()| None);
    }
    let mut session = catch(|| Session::begin(setup)).map_err(|error| explained(error, group))?;
    let result = catch(|| session.run(signals)).map_err(|error| explained(error, group));
    match &result {
        Ok(outcome) => tracing::info!(
            "Training complete in {:.2} hours",
            outcome.training_time_hours
        ),
        Err(error) => {
            tracing::error!("{}: {error}", error.kind);
            let message = error.message.clone();
            session.status.failed(
                session.epoch + 1,
                RunError {
                    message,
                    kind: error.kind.to_owned(),
                },
            );
        }
    }
    log::close_train_log();
    result.map(Some)
}

enum Validated {
    Yes(Validation),
    NotDue,
    Stopped,
}

impl Session {
    fn run(&mut self, signals: &Signals) -> Result<Outcome, TrainError> {
        self.introduce();
        while self.epoch < self.config.epochs {
            let begin = Instant::now();
            let position = self.position.take();
            let status = &mut self.status;
            let end = self
                .learner
                .train_epoch(self.epoch, position, signals, |step| status.step(step))?;
            let sums = match end {
                EpochEnd::Done(sums) => sums,
                EpochEnd::Stopped(position) => return Err(self.stop(position, signals)),
            };
            self.last_loss = sums.mean(sums.total);
            tracing::info!(
                "Epoch {} - Average loss: {:.4}",
                self.epoch + 1,
                self.last_loss
            );
            let validation = match self.validate(signals)? {
                Validated::Yes(validation) => Some(validation),
                Validated::NotDue => None,
                Validated::Stopped => {
                    let position = sums.at(self.learner.loader.batches());
                    self.tell_the_others(Verdict::End)?;
                    return Err(self.stop(position, signals));
                }
            };
            let row = self.epoch_row(&sums, validation.as_ref(), begin.elapsed().as_secs_f64());
            self.finish_epoch(row)?;
            let is_over = self.is_patience_over() || self.epoch == self.config.epochs;
            self.tell_the_others(if is_over { Verdict::End } else { Verdict::GoOn })?;
            if self.is_patience_over() {
                tracing::info!(
                    "Early stopping triggered after {} epochs (patience={})",
                    self.epoch,
                    self.config.patience
                );
                break;
            }
        }
        Ok(self.complete())
    }

    fn introduce(&self) {
        self.learner.name_skips();
        let steps = self.learner.loader.batches();
        tracing::info!("Starting training for {} epochs", self.config.epochs);
        tracing::info!(
            "Model: {}-{}, {} classes, {} px, on {:?} with {} threads",
            self.learner.model.family().title(),
            self.metadata.size,
            self.metadata.names.len(),
            self.config.imgsz,
            self.learner.device,
            tch::get_num_threads()
        );
        tracing::info!(
            "{} training images, {steps} steps an epoch, batch size {}",
            self.learner.loader.len(),
            self.config.batch
        );
        if self.config.no_aug_epochs > 0
            && self.epoch + self.config.no_aug_epochs >= self.config.epochs
        {
            tracing::info!(
                "Mosaic is off: {} epochs or fewer are left",
                self.config.no_aug_epochs
            );
        }
    }

    /// COCO figures of the averaged weights, when this epoch is one that is validated.
    fn validate(&mut self, signals: &Signals) -> Result<Validated, TrainError> {
        let finished = self.epoch + 1;
        let is_due =
            finished.is_multiple_of(self.config.eval_interval) || finished == self.config.epochs;
        let status = &mut self.status;
        let Some(validator) = self.validator.as_ref().filter(|_| is_due) else {
            return Ok(Validated::NotDue);
        };
        tracing::info!("Running validation for epoch {finished}");
        let learner = &self.learner;
        let model = learner
            .ema
            .as_ref()
            .map_or(&learner.model, |ema| ema.model());
        let Some(validation) = validator.run(model, signals, || status.touch())? else {
            return Ok(Validated::Stopped);
        };
        tracing::info!(
            "Validation - mAP50: {:.4}, mAP50-95: {:.4}",
            validation.map50,
            validation.map50_95
        );
        Ok(Validated::Yes(validation))
    }

    /// Takes the epoch into the best so far, and describes it.
    fn epoch_row(
        &mut self,
        sums: &LossSums,
        validation: Option<&Validation>,
        seconds: f64,
    ) -> EpochRow {
        let is_best =
            validation.is_some_and(|v| self.best.epoch == 0 || v.map50_95 > self.best.map50_95);
        if let Some(validation) = validation.filter(|_| is_best) {
            self.best.map50_95 = validation.map50_95;
            self.best.map50 = validation.map50;
            self.best.epoch = self.epoch + 1;
        }
        let has_best = self.best.epoch > 0;
        let mut values: IndexMap<String, Value> = IndexMap::new();
        let names = self.learner.model.family().loss_parts();
        for (name, sum) in names.iter().zip(&sums.parts) {
            values.insert(format!("train/{name}_loss"), sums.mean(*sum).into());
        }
        if let Some(validation) = validation {
            values.extend(
                validation
                    .metrics
                    .iter()
                    .map(|(name, value)| ((*name).to_owned(), (*value).into())),
            );
        }
        for group in 0..3 {
            values.insert(
                format!("lr/group{group}"),
                self.learner.optimizer.learning_rate().into(),
            );
        }
        EpochRow {
            epoch: self.epoch + 1,
            time: Some(seconds),
            train_loss: Some(sums.mean(sums.total)),
            validated: Some(validation.is_some()),
            is_best: Some(is_best),
            current_metric: validation.map(|v| v.map50_95),
            current_metric_name: validation.map(|_| BEST_METRIC.to_owned()),
            best_metric: has_best.then_some(self.best.map50_95),
            best_metric_name: has_best.then(|| BEST_METRIC.to_owned()),
            best_epoch: has_best.then_some(self.best.epoch),
            values,
        }
    }

    /// Writes the epoch down: checkpoint, history, status, in this order.
    fn finish_epoch(&mut self, row: EpochRow) -> Result<(), TrainError> {
        self.epoch += 1;
        self.save_epoch(&row).inspect_err(|_| self.epoch -= 1)?;
        self.events.push(self.event(&row));
        if let Err(e) = self.history.push(row.clone()) {
            tracing::warn!("could not write the history of epoch {}: {e}", row.epoch);
        }
        self.status.epoch_end(&row);
        Ok(())
    }

    fn is_patience_over(&self) -> bool {
        let patience = self.config.patience;
        patience > 0 && self.best.epoch > 0 && self.epoch - self.best.epoch >= patience
    }
}
