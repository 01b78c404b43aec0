//! Whether a training moves: told by the content of its files, not by their being rewritten.

use std::fs;
use std::io;
use std::path::Path;

use chrono::{DateTime, Utc};
use gpurun_protocol::metrics;
use gpurun_protocol::report::HistoryView;
use gpurun_protocol::status::Status;

/// What moves when a training does.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Mark {
    state: Option<gpurun_protocol::status::State>,
    epoch: Option<u32>,
    step: Option<u64>,
    history_bytes: u64,
}

impl Mark {
    /// From the run directory; `None` when `status.json` can't be read, which is no progress.
    pub(crate) fn of(run_dir: &Path) -> Option<Mark> {
        let status = read_status(run_dir).ok()?.unwrap_or_default();
        Some(Mark {
            state: status.state,
            epoch: status.current_epoch,
            step: status.step,
            history_bytes: fs::metadata(run_dir.join("metrics.jsonl"))
                .map_or(0, |metadata| metadata.len()),
        })
    }
}

/// When a training last moved: pure.
#[derive(Debug)]
pub(crate) struct Progress {
    mark: Mark,
    moved_at: DateTime<Utc>,
}

impl Progress {
    /// At the start, with what an earlier attempt has left behind.
    pub(crate) fn new(mark: Option<Mark>, started_at: DateTime<Utc>) -> Progress {
        Progress {
            mark: mark.unwrap_or_default(),
            moved_at: started_at,
        }
    }

    pub(crate) fn observe(&mut self, mark: Option<Mark>, now: DateTime<Utc>) -> DateTime<Utc> {
        if let Some(mark) = mark
            && mark != self.mark
        {
            self.mark = mark;
            self.moved_at = now;
        }
        self.moved_at
    }
}

/// The run directory's `status.json`; `None` when there is none.
pub(crate) fn read_status(run_dir: &Path) -> io::Result<Option<Status>> {
    match fs::read(run_dir.join("status.json")) {
        Ok(bytes) => Ok(Some(Status::from_json(&bytes)?)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// The run directory's `metrics.jsonl` in short; `None` while it has no epoch.
pub(crate) fn read_history(run_dir: &Path) -> io::Result<Option<HistoryView>> {
    match fs::read(run_dir.join("metrics.jsonl")) {
        Ok(bytes) => Ok(HistoryView::of(&metrics::read(&bytes))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(seconds, 0).unwrap()
    }

    #[test]
    fn a_status_that_is_only_rewritten_is_no_progress() {
        let run = tempfile::tempdir().unwrap();
        let status = |epoch: u32, second: u32| {
            let text = format!(
                r#"{{"state":"running","current_epoch":{epoch},"updated_at":"2026-12-01T00:00:{second:02}+00:00"}}"#
            );
            fs::write(run.path().join("status.json"), text).unwrap();
        };
        status(1, 0);
        let mut progress = Progress::new(Mark::of(run.path()), at(0));
        status(1, 30);
        assert_eq!(progress.observe(Mark::of(run.path()), at(30)), at(0));
        status(2, 40);
        assert_eq!(progress.observe(Mark::of(run.path()), at(40)), at(40));
        fs::write(run.path().join("metrics.jsonl"), "{\"epoch\":1}\n").unwrap();
        assert_eq!(progress.observe(Mark::of(run.path()), at(50)), at(50));
        assert_eq!(progress.observe(Mark::of(run.path()), at(60)), at(50));
        // Caught while it is written in place.
        fs::write(run.path().join("status.json"), "{\"sta").unwrap();
        assert_eq!(progress.observe(Mark::of(run.path()), at(70)), at(50));
    }
}
