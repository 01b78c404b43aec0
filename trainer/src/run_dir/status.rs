//! status.json: kept up to date while the run goes.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use chrono::{DateTime, Utc};
use gpurun_protocol::metrics::EpochRow;
use gpurun_protocol::status::{Checkpoints, RunError, SCHEMA_VERSION, State, Status};

use super::atomic::replace_file;
use super::directory::RunDir;

/// Within an epoch the file is rewritten no more often than this.
const REFRESH: Duration = Duration::from_secs(2);

/// What stays the same for one process of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunFacts {
    pub model_family: String,
    pub model_size: String,
    pub total_epochs: u32,
    /// Counted from 1.
    pub start_epoch: u32,
    pub steps_per_epoch: u64,
}

/// Where the epoch in flight stands.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Progress {
    /// Steps done in this epoch.
    pub step: u64,
    /// Since the epoch began.
    pub elapsed: Duration,
    pub images_per_second: f64,
    /// Parts that a batch is taken in; 1 where it fits the memory.
    pub parts: usize,
}

/// Writes status.json. A write that fails is logged and forgotten: the training is worth more.
#[derive(Debug)]
pub struct StatusFile {
    path: PathBuf,
    status: Status,
    started: Instant,
    written: Option<Instant>,
    /// Seconds of the epochs this process finished.
    epoch_seconds: Vec<f64>,
}

impl StatusFile {
    /// Writes the first record, with no epoch of this process done; `last` is the row of the last one that
    /// an earlier process did.
    pub fn begin(run_dir: &RunDir, facts: &RunFacts, last: Option<&EpochRow>) -> StatusFile {
        let completed = facts.start_epoch.saturating_sub(1);
        let status = Status {
            schema_version: Some(SCHEMA_VERSION),
            state: Some(State::Running),
            pid: Some(std::process::id()),
            model_family: Some(facts.model_family.clone()),
            model_size: Some(facts.model_size.clone()),
            task: Some("detect".to_owned()),
            save_dir: Some(run_dir.path().display().to_string()),
            total_epochs: Some(facts.total_epochs),
            start_epoch: Some(facts.start_epoch),
            completed_epochs: Some(completed),
            current_epoch: Some(completed),
            started_at: Some(now()),
            step: Some(0),
            steps_per_epoch: Some(facts.steps_per_epoch),
            ..Status::default()
        };
        let mut file = StatusFile {
            path: run_dir.file("status.json"),
            status,
            started: Instant::now(),
            written: None,
            epoch_seconds: vec![],
        };
        if let Some(row) = last {
            file.take_over(row);
        }
        file.write();
        file
    }

    /// Notes a step; the file follows every two seconds.
    pub fn step(&mut self, progress: Progress) {
        self.status.step = Some(progress.step);
        self.status.images_per_second = Some(progress.images_per_second);
        self.status.batch_parts = (progress.parts > 1).then_some(progress.parts as u64);
        if self.is_fresh() {
            return;
        }
        self.status.eta_seconds = self.eta(progress.step, progress.elapsed.as_secs_f64());
        self.write();
    }

    /// Shows that the process lives while it does something other than steps.
    pub fn touch(&mut self) {
        if !self.is_fresh() {
            self.write();
        }
    }

    /// Notes a finished epoch, whose row is already in metrics.jsonl.
    pub fn epoch_end(&mut self, row: &EpochRow) {
        self.epoch_seconds.extend(row.time);
        self.take_over(row);
        self.status.mean_epoch_seconds = self.mean_epoch_seconds();
        self.status.eta_seconds = self.eta(0, 0.0);
        self.write();
    }

    /// Writes the last record of a run that ended normally.
    pub fn completed(&mut self, total_seconds: f64, checkpoints: Checkpoints) {
        self.status.state = Some(State::Completed);
        self.status.total_seconds = Some(total_seconds);
        self.status.checkpoints = Some(checkpoints);
        self.status.eta_seconds = Some(0.0);
        self.write();
    }

    /// Writes the last record of a run that did not; `epoch` was in flight, counted from 1.
    pub fn failed(&mut self, epoch: u32, error: RunError) {
        self.status.state = Some(State::Failed);
        self.status.current_epoch = Some(epoch);
        self.status.error = Some(error);
        self.status.eta_seconds = None;
        self.write();
    }

    /// The record as last written.
    pub fn status(&self) -> &Status {
        &self.status
    }

    fn take_over(&mut self, row: &EpochRow) {
        let status = &mut self.status;
        status.completed_epochs = Some(row.epoch);
        status.current_epoch = Some(row.epoch);
        status.step = Some(0);
        status.epoch_seconds = row.time;
        status.train_loss = row.train_loss;
        status.validated = row.validated;
        status.current_metric = row.current_metric;
        status
            .current_metric_name
            .clone_from(&row.current_metric_name);
        status.best_metric = row.best_metric;
        status.best_metric_name.clone_from(&row.best_metric_name);
        status.best_epoch = row.best_epoch;
        status.metrics = Some(
            row.values
                .iter()
                .filter(|(name, _)| name.starts_with("metrics/") || name.starts_with("speed/"))
                .map(|(name, value)| {
                    (
                        name.strip_prefix("metrics/").unwrap_or(name).to_owned(),
                        value.clone(),
                    )
                })
                .collect(),
        );
    }

    fn is_fresh(&self) -> bool {
        self.written
            .is_some_and(|written| written.elapsed() < REFRESH)
    }

    fn mean_epoch_seconds(&self) -> Option<f64> {
        let count = self.epoch_seconds.len();
        (count > 0).then(|| self.epoch_seconds.iter().sum::<f64>() / count as f64)
    }

    /// Seconds to the end: by whole epochs once there was one, by the steps of the first until then.
    fn eta(&self, step: u64, elapsed: f64) -> Option<f64> {
        let remaining = self
            .status
            .total_epochs?
            .saturating_sub(self.status.completed_epochs?);
        let steps = self.status.steps_per_epoch?;
        let by_steps = (step > 0).then(|| elapsed / step as f64 * steps as f64);
        let epoch = self.mean_epoch_seconds().or(by_steps)?;
        Some((f64::from(remaining) * epoch - elapsed).max(0.0))
    }

    fn write(&mut self) {
        self.status.updated_at = Some(now());
        self.status.elapsed_seconds =
            Some((self.started.elapsed().as_secs_f64() * 1e3).round() / 1e3);
        self.status.progress = Some(self.progress());
        self.written = Some(Instant::now());
        let result = self
            .status
            .to_json()
            .map_err(std::io::Error::from)
            .and_then(|json| replace_file(&self.path, json.as_bytes()));
        if let Err(e) = result {
            tracing::warn!("could not write {}: {e}", self.path.display());
        }
    }

    fn progress(&self) -> f64 {
        let of = |value: Option<u64>| value.unwrap_or(0) as f64;
        let done = f64::from(self.status.completed_epochs.unwrap_or(0));
        let in_epoch = match self.status.state {
            Some(State::Completed) => 0.0,
            _ => of(self.status.step) / of(self.status.steps_per_epoch).max(1.0),
        };
        ((done + in_epoch) / f64::from(self.status.total_epochs.unwrap_or(1))).min(1.0)
    }
}

fn now() -> DateTime<Utc> {
    SystemTime::now().into()
}

/// Ends the record of a run whose process can't do it any more.
pub fn end_for_it(run_dir: &Path, error: RunError) {
    let path = run_dir.join("status.json");
    let result = std::fs::read(&path).and_then(|json| {
        let mut status = Status::from_json(&json).map_err(std::io::Error::from)?;
        status.state = Some(State::Failed);
        status.error = Some(error);
        status.eta_seconds = None;
        status.updated_at = Some(now());
        let json = status.to_json().map_err(std::io::Error::from)?;
        replace_file(&path, json.as_bytes())
    });
    if let Err(e) = result {
        tracing::warn!("could not write {}: {e}", path.display());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn begin(start_epoch: u32) -> (tempfile::TempDir, StatusFile) {
        let dir = tempfile::tempdir().unwrap();
        let run = RunDir::open(dir.path()).unwrap();
        let facts = RunFacts {
            model_family: "yolo9".to_owned(),
            model_size: "t".to_owned(),
            total_epochs: 4,
            start_epoch,
            steps_per_epoch: 10,
        };
        let last = (start_epoch > 1).then(|| row(start_epoch - 1));
        (dir, StatusFile::begin(&run, &facts, last.as_ref()))
    }

    fn on_disk(file: &StatusFile) -> Value {
        serde_json::from_slice(&std::fs::read(&file.path).unwrap()).unwrap()
    }

    fn row(epoch: u32) -> EpochRow {
        EpochRow {
            epoch,
            time: Some(20.0),
            train_loss: Some(3.0),
            validated: Some(true),
            values: [
                ("metrics/mAP50".to_owned(), 0.5.into()),
                ("lr/group0".to_owned(), 0.1.into()),
            ]
            .into_iter()
            .collect(),
            ..EpochRow::default()
        }
    }

    #[test]
    fn the_keys_of_a_running_record_are_never_missing() {
        let (_dir, mut file) = begin(1);
        let first = on_disk(&file);
        assert_eq!(first["state"], "running");
        assert_eq!(first["current_epoch"], 0);
        assert!(first["eta_seconds"].is_null() && first.get("eta_seconds").is_some());
        file.epoch_end(&row(1));
        let second = on_disk(&file);
        assert_eq!(
            (&second["current_epoch"], &second["progress"]),
            (&1.into(), &0.25.into())
        );
        assert_eq!(second["eta_seconds"], 60.0);
        assert_eq!(second["metrics"]["mAP50"], 0.5);
        assert!(second["metrics"].get("lr/group0").is_none());
    }

    #[test]
    fn steps_refresh_the_file_but_not_each() {
        let (_dir, mut file) = begin(1);
        let progress = |step| Progress {
            parts: 1,
            step,
            elapsed: Duration::from_secs(4),
            images_per_second: 16.0,
        };
        file.step(progress(2));
        assert_eq!(on_disk(&file)["step"], 0);
        file.written = file.written.and_then(|at| at.checked_sub(REFRESH));
        file.step(progress(4));
        let status = on_disk(&file);
        assert_eq!(status["step"], 4);
        assert_eq!(status["progress"], 0.1);
        // One second a step: 40 steps less the 4 done.
        assert_eq!(status["eta_seconds"], 36.0);
        assert_eq!(status["images_per_second"], 16.0);
    }

    #[test]
    fn progress_is_the_whole_runs_after_a_resume() {
        let (_dir, mut file) = begin(4);
        let first = on_disk(&file);
        assert_eq!(
            (&first["progress"], &first["train_loss"]),
            (&0.75.into(), &3.0.into())
        );
        assert!(first["eta_seconds"].is_null());
        file.epoch_end(&row(4));
        file.completed(21.0, Checkpoints::default());
        let status = on_disk(&file);
        assert_eq!(
            (&status["progress"], &status["completed_epochs"]),
            (&1.0.into(), &4.into())
        );
        assert_eq!(status["state"], "completed");
    }

    #[test]
    fn a_failure_keeps_what_was_reached() {
        let (_dir, mut file) = begin(1);
        file.epoch_end(&row(1));
        file.failed(
            2,
            RunError {
                kind: "Terminated".to_owned(),
                message: "stopped".to_owned(),
            },
        );
        let status = on_disk(&file);
        assert_eq!(
            (&status["completed_epochs"], &status["current_epoch"]),
            (&1.into(), &2.into())
        );
        assert_eq!(status["progress"], 0.25);
        assert_eq!(status["error"]["type"], "Terminated");
    }

    #[test]
    fn an_unwritable_folder_stops_nothing() {
        let (dir, mut file) = begin(1);
        std::fs::remove_dir_all(dir.path()).unwrap();
        file.epoch_end(&row(1));
        assert_eq!(file.status().completed_epochs, Some(1));
    }
}
