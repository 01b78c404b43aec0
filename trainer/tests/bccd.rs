//! A whole training from scratch on real images, for `cargo xtask test --full`: docs/bccd.md by machine.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use gpurun_protocol::metrics;

/// The dataset, when the long tests are asked for and it lies beside the repository.
#[expect(clippy::print_stderr, reason = "a skipped test says so")]
fn data() -> Option<PathBuf> {
    if std::env::var_os("GPURUN_TEST_FULL").is_none() {
        eprintln!("skipped: GPURUN_TEST_FULL is not set");
        return None;
    }
    let shared = std::env::var_os("GPURUN_SHARED").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared"),
        PathBuf::from,
    );
    let data = shared.join("data/bccd/data.yaml");
    if !data.exists() {
        eprintln!("skipped: no dataset at {}", data.display());
        return None;
    }
    Some(data)
}

/// Single seeds ended between the figures in docs/bccd.md; the bounds leave room for another one.
#[test]
fn bccd_is_learnt_from_scratch() {
    let Some(data) = data() else { return };
    let dir = tempfile::tempdir().unwrap();
    let status = Command::new(env!("CARGO_BIN_EXE_gpurun-train"))
        .args([
            "train",
            "model=yolo9-t",
            "epochs=15",
            "batch=8",
            "imgsz=320",
            "device=cpu",
            "eval_interval=3",
        ])
        .args(["seed=0", "project=runs", "name=bccd"])
        .arg(format!("data={}", data.display()))
        .current_dir(dir.path())
        .status()
        .unwrap();
    assert!(status.success());
    let history = metrics::read(&fs::read(dir.path().join("runs/bccd/metrics.jsonl")).unwrap());
    let (first, last) = (&history.rows[0], &history.rows[14]);
    assert!(
        (16.0..20.0).contains(&first.train_loss.unwrap()),
        "{first:?}"
    );
    assert!(last.train_loss.unwrap() < 4.4, "{last:?}");
    assert!(last.best_metric.unwrap() >= 0.37, "{last:?}");
}
