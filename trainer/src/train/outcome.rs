//! The normal end: summary.json, the last status, what the caller gets.

use std::collections::BTreeMap;
use std::fmt;

use gpurun_protocol::metrics::EpochRow;
use gpurun_protocol::status::Checkpoints;
use gpurun_protocol::summary::{EpochEvent, Results, Summary};
use serde::Serialize;
use serde_json::Value;

use super::session::Session;
use super::validate::Validator;
use crate::run_dir::replace_file;

/// The result of a training, in the form of LibreYOLO's `--json`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Outcome {
    pub schema_version: u32,
    /// `complete`.
    pub status: &'static str,
    pub model: String,
    pub model_family: &'static str,
    pub data: String,
    pub device: String,
    /// Of this process.
    pub epochs_completed: usize,
    pub best_epoch: Option<u32>,
    pub best_metrics: Option<BestMetrics>,
    pub best_weights: Option<String>,
    pub last_weights: Option<String>,
    /// Two decimals.
    pub training_time_hours: f64,
    pub save_dir: String,
    /// Images and label lines that couldn't be used; the log names each.
    pub left_out: u64,
}

/// A few lines for a person.
impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} epochs in {:.2} hours, in {}",
            self.epochs_completed, self.training_time_hours, self.save_dir
        )?;
        if let (Some(epoch), Some(metrics)) = (self.best_epoch, self.best_metrics) {
            writeln!(
                f,
                "best: epoch {epoch}, mAP50-95 {:.4}, mAP50 {:.4}",
                metrics.map50_95, metrics.map50
            )?;
        }
        if self.left_out > 0 {
            writeln!(
                f,
                "{} images or label lines left out; the log names them",
                self.left_out
            )?;
        }
        for path in [&self.best_weights, &self.last_weights]
            .into_iter()
            .flatten()
        {
            writeln!(f, "{path}")?;
        }
        Ok(())
    }
}

/// The figures of the best epoch.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct BestMetrics {
    #[serde(rename = "mAP50")]
    pub map50: f64,
    #[serde(rename = "mAP50_95")]
    pub map50_95: f64,
}

impl Session {
    /// Writes summary.json, then the status.
    pub(super) fn complete(&mut self) -> Outcome {
        let seconds = self.started.elapsed().as_secs_f64();
        let path = |name: &str| {
            let path = self.run_dir.weights().join(name);
            path.exists().then(|| path.display().to_string())
        };
        let checkpoints = Checkpoints {
            best: path("best.pt"),
            last: path("last.pt"),
        };
        let has_best = self.best.epoch > 0;
        let outcome = Outcome {
            schema_version: 1,
            status: "complete",
            model: self.config.model.clone(),
            model_family: self.learner.model.family().name(),
            data: self.config.data.display().to_string(),
            device: self.config.device.clone(),
            epochs_completed: self.events.len(),
            best_epoch: has_best.then_some(self.best.epoch),
            best_metrics: has_best.then_some(BestMetrics {
                map50: self.best.map50,
                map50_95: self.best.map50_95,
            }),
            best_weights: checkpoints.best.clone(),
            last_weights: checkpoints.last.clone(),
            training_time_hours: (seconds / 36.0).round() / 100.0,
            save_dir: self.run_dir.path().display().to_string(),
            left_out: self.left_out(),
        };
        let written = self
            .summary(seconds, &checkpoints)
            .to_json()
            .map_err(std::io::Error::from)
            .and_then(|json| replace_file(&self.run_dir.file("summary.json"), json.as_bytes()));
        if let Err(e) = written {
            tracing::warn!("could not write summary.json: {e}");
        }
        self.status.completed(seconds, checkpoints);
        outcome
    }

    fn left_out(&self) -> u64 {
        let validation = self.validator.as_ref().map_or(0, Validator::skipped);
        (self.learner.loader.skipped() + validation) as u64
    }

    fn summary(&self, seconds: f64, checkpoints: &Checkpoints) -> Summary {
        let has_best = self.best.epoch > 0;
        let logged_epochs: Vec<u32> = self.history.rows().iter().map(|row| row.epoch).collect();
        let save_dir = self.run_dir.path().display().to_string();
        let final_loss = self.last_loss.is_finite().then_some(self.last_loss);
        let each = |part: fn(&EpochEvent) -> &BTreeMap<String, Value>| {
            self.events
                .iter()
                .map(|event| part(event).clone())
                .collect()
        };
        Summary {
            total_epochs: Some(self.config.epochs),
            completed_epochs: Some(self.epoch),
            invocation_completed_epochs: u32::try_from(self.events.len()).ok(),
            logged_epochs,
            model_family: Some(self.metadata.model_family.clone()),
            model_size: Some(self.metadata.size.clone()),
            task: Some("detect".to_owned()),
            save_dir: Some(save_dir.clone()),
            final_loss,
            best_metric: has_best.then_some(self.best.map50_95),
            best_epoch: has_best.then_some(self.best.epoch),
            total_seconds: Some(seconds),
            checkpoints: checkpoints.clone(),
            left_out: Some(self.left_out()),
            results_scope: Some("current_invocation".to_owned()),
            results: Results {
                final_loss,
                epoch_losses: self.events.iter().map(|event| event.train_loss).collect(),
                epoch_lrs: each(|event| &event.lr),
                epoch_loss_items: each(|event| &event.train_loss_items),
                val_metrics: each(|event| &event.val_metrics),
                epoch_metrics: self.events.clone(),
                best_map50: Some(self.best.map50),
                best_map50_95: Some(self.best.map50_95),
                best_epoch: Some(self.best.epoch),
                save_dir: Some(save_dir),
                best_checkpoint: checkpoints.best.clone(),
                last_checkpoint: checkpoints.last.clone(),
                ..Results::default()
            },
            unknown: BTreeMap::new(),
        }
    }

    /// The epoch as summary.json tells it.
    pub(super) fn event(&self, row: &EpochRow) -> EpochEvent {
        let columns = |prefixes: &[&str], strip: &str| -> BTreeMap<String, Value> {
            row.values
                .iter()
                .filter(|(name, _)| prefixes.iter().any(|prefix| name.starts_with(prefix)))
                .map(|(name, value)| {
                    let short = name.strip_prefix(strip).unwrap_or(name);
                    (
                        short.strip_suffix("_loss").unwrap_or(short).to_owned(),
                        value.clone(),
                    )
                })
                .collect()
        };
        EpochEvent {
            epoch: row.epoch,
            total_epochs: Some(self.config.epochs),
            model_family: Some(self.metadata.model_family.clone()),
            model_size: Some(self.metadata.size.clone()),
            task: Some("detect".to_owned()),
            save_dir: Some(self.run_dir.path().display().to_string()),
            train_loss: row.train_loss,
            train_loss_items: columns(&["train/"], "train/"),
            lr: columns(&["lr/"], "lr/"),
            val_metrics: columns(&["metrics/", "speed/"], ""),
            validated: row.validated == Some(true),
            is_best: row.is_best == Some(true),
            current_metric: row.current_metric,
            current_metric_name: row.current_metric_name.clone(),
            best_metric: row.best_metric,
            best_metric_name: row.best_metric_name.clone(),
            best_epoch: row.best_epoch,
            epoch_seconds: row.time,
            unknown: BTreeMap::new(),
        }
    }
}
