//! LibreYOLO's own run directories, read with our types.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};

use gpurun_protocol::metrics::{self, History};
use gpurun_protocol::status::{State, Status};
use gpurun_protocol::summary::Summary;
use indexmap::IndexMap;
use serde_json::Value;

fn run(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data")
        .join(name)
}

fn status(run_dir: &Path) -> Status {
    Status::from_json(&fs::read(run_dir.join("status.json")).unwrap()).unwrap()
}

fn history(run_dir: &Path) -> History {
    metrics::read(&fs::read(run_dir.join("metrics.jsonl")).unwrap())
}

#[test]
fn killed_before_the_first_epoch() {
    let status = status(&run("killed_sigkill_before_epoch1"));
    assert_eq!(status.state, Some(State::Running));
    assert_eq!(
        (status.completed_epochs, status.current_epoch),
        (Some(0), None)
    );
    assert_eq!(status.eta_seconds, None);
}

#[test]
fn killed_while_running() {
    let dir = run("sig_KILL");
    let status = status(&dir);
    assert_eq!(status.state, Some(State::Running));
    assert_eq!(status.metric("mAP50-95"), Some(0.0));
    assert_eq!(status.metric("speed/images_seen"), Some(8.0));
    assert_eq!(status.best_metric_name.as_deref(), Some("metrics/mAP50-95"));
    assert!(status.unknown.is_empty(), "{:?}", status.unknown);
    assert_eq!(
        history(&dir).rows.last().map(|row| row.epoch),
        status.current_epoch
    );
}

#[test]
fn crashed() {
    let status = status(&run("crash_missing_image"));
    assert_eq!(
        (status.state, status.current_epoch),
        (Some(State::Failed), Some(2))
    );
    assert_eq!(status.error.unwrap().kind, "FileNotFoundError");
}

#[test]
fn resumed_and_finished() {
    let dir = run("resumed_after_sigkill");
    let status = status(&dir);
    assert_eq!(
        (status.state, status.start_epoch),
        (Some(State::Completed), Some(2))
    );
    // LibreYOLO's own error, the reason to count rows instead.
    assert_eq!(
        (status.completed_epochs, status.total_epochs),
        (Some(3), Some(4))
    );
    assert_eq!(history(&dir).rows.len(), 4);

    let summary = Summary::from_json(&fs::read(dir.join("summary.json")).unwrap()).unwrap();
    assert_eq!(
        (
            summary.completed_epochs,
            summary.invocation_completed_epochs
        ),
        (Some(4), Some(3))
    );
    assert_eq!(summary.results.epoch_metrics.len(), 3);
    assert!(summary.unknown.is_empty() && summary.results.unknown.is_empty());
    assert!(
        summary
            .results
            .epoch_metrics
            .iter()
            .all(|event| event.unknown.is_empty())
    );
}

fn columns(line: &str) -> Vec<(String, Value)> {
    serde_json::from_str::<IndexMap<String, Value>>(line)
        .unwrap()
        .into_iter()
        .collect()
}

#[test]
fn what_is_read_is_written_back() {
    for name in ["sig_KILL", "crash_missing_image", "resumed_after_sigkill"] {
        let text = fs::read_to_string(run(name).join("status.json")).unwrap();
        assert_eq!(
            Status::from_json(text.as_bytes())
                .unwrap()
                .to_json()
                .unwrap(),
            text,
            "{name}"
        );

        let lines = fs::read_to_string(run(name).join("metrics.jsonl")).unwrap();
        for (row, line) in history(&run(name)).rows.iter().zip(lines.lines()) {
            assert_eq!(columns(&row.to_line().unwrap()), columns(line), "{name}");
        }
    }
    let text = fs::read_to_string(run("resumed_after_sigkill").join("summary.json")).unwrap();
    let ours = Summary::from_json(text.as_bytes())
        .unwrap()
        .to_json()
        .unwrap();
    assert_eq!(
        serde_json::from_str::<Value>(&ours).unwrap(),
        serde_json::from_str::<Value>(&text).unwrap()
    );
}

/// Every run directory recorded beside the repository, where there is one.
#[test]
#[expect(clippy::print_stderr, reason = "a skipped test says so")]
fn all_recorded_runs() {
    let shared = std::env::var_os("GPURUN_SHARED").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared"),
        PathBuf::from,
    );
    let Ok(runs) = fs::read_dir(shared.join("data/libreyolo-runs")) else {
        eprintln!(
            "skipped: no recorded LibreYOLO runs under {}",
            shared.display()
        );
        return;
    };
    let mut seen = 0;
    for dir in runs.map(|entry| entry.unwrap().path()) {
        let status = status(&dir);
        assert_ne!(status.state, Some(State::Unknown), "{}", dir.display());
        assert!(
            status.unknown.is_empty(),
            "{}: {:?}",
            dir.display(),
            status.unknown
        );
        if let Ok(bytes) = fs::read(dir.join("metrics.jsonl")) {
            let history = metrics::read(&bytes);
            assert!(
                history.skipped.is_empty(),
                "{}: {:?}",
                dir.display(),
                history.skipped
            );
            assert!(!history.rows.is_empty(), "{}", dir.display());
        }
        if let Ok(bytes) = fs::read(dir.join("summary.json")) {
            Summary::from_json(&bytes).unwrap_or_else(|e| panic!("{}: {e}", dir.display()));
        }
        seen += 1;
    }
    assert!(seen >= 10, "only {seen} runs in {}", shared.display());
}
