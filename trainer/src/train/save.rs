//! From the run to its checkpoint.

use gpurun_protocol::metrics::EpochRow;

use super::error::TrainError;
use super::session::Session;
use crate::checkpoint::{Checkpoint, Position, StateDict, TrainingState};
use crate::run_dir::{SavedAs, save_checkpoint};
use crate::signal::{Signals, Stop};

impl Session {
    /// Saves the state after a finished epoch.
    ///
    /// # Errors
    /// When the disk is full or can't be written; the previous checkpoint is whole then.
    pub(super) fn save_epoch(&self, row: &EpochRow) -> Result<(), TrainError> {
        let is_best = row.is_best == Some(true);
        let period = self.config.save_period;
        let is_kept = period > 0 && self.epoch.is_multiple_of(period);
        let saved_as = SavedAs {
            best: is_best,
            epoch: is_kept.then_some(self.epoch),
        };
        save_checkpoint(&self.run_dir, &self.checkpoint(None, Some(row)), saved_as)?;
        if is_best {
            tracing::info!(
                "New best model saved - Epoch {}: {}={:.4}",
                self.epoch,
                super::run::BEST_METRIC,
                self.best.map50_95
            );
        }
        tracing::info!(
            "Checkpoint saved: {}",
            self.run_dir.weights().join("last.pt").display()
        );
        Ok(())
    }

    /// Saves the state within an epoch, for a signal, and says why the run ends.
    pub(super) fn stop(&self, position: Position, signals: &Signals) -> TrainError {
        let stop = signals.stop().unwrap_or(Stop::Terminated);
        tracing::info!(
            "{} in epoch {} after step {}",
            stop.name(),
            self.epoch + 1,
            position.step
        );
        let saved_as = SavedAs {
            best: false,
            epoch: None,
        };
        // Before the first step there is nothing that a fresh start wouldn't give.
        let is_fresh = self.epoch == 0 && position.step == 0;
        if !is_fresh
            && let Err(e) = save_checkpoint(
                &self.run_dir,
                &self.checkpoint(Some(position), self.history.rows().last()),
                saved_as,
            )
        {
            tracing::error!("the state within the epoch could not be saved: {e}");
        }
        stop.into()
    }

    fn checkpoint(&self, position: Option<Position>, row: Option<&EpochRow>) -> Checkpoint {
        let train_model = dense(self.learner.model.state_dict());
        let model = match &self.learner.ema {
            Some(ema) => dense(ema.model().state_dict()),
            None => train_model
                .iter()
                .map(|(name, tensor)| (name.clone(), tensor.shallow_clone()))
                .collect(),
        };
        Checkpoint {
            metadata: self.metadata.clone(),
            model,
            training: Some(TrainingState {
                finished_epochs: self.epoch,
                position,
                row: row.and_then(|row| row.to_line().ok()),
                loss: self.last_loss,
                best: self.best.clone(),
                config: self.record.clone(),
                train_model,
                ema_updates: self
                    .learner
                    .ema
                    .as_ref()
                    .map(|ema| i64::try_from(ema.updates()).unwrap_or(i64::MAX)),
                optimizer: Some(self.learner.optimizer.state()),
                scaler: self.learner.precision.scaler(),
            }),
        }
    }
}

/// Contiguous tensors, so that `model` and `ema`, which are the same, share their storages in the file.
fn dense(state: StateDict) -> StateDict {
    state
        .into_iter()
        .map(|(name, tensor)| (name, tensor.contiguous()))
        .collect()
}
