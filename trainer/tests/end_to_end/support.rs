//! A dataset, a process, and what it left behind.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};

use gpurun_dataset::shapes::{ShapesConfig, generate};
use gpurun_protocol::metrics::{self, History};
use gpurun_protocol::status::Status;
use tempfile::TempDir;

/// A folder with a dataset in it, in which trainings run.
pub(crate) struct Bench {
    dir: TempDir,
}

impl Bench {
    /// Two steps an epoch at a batch of 4.
    pub(crate) fn new() -> Bench {
        Bench::with(8, 4)
    }

    pub(crate) fn with(train: usize, val: usize) -> Bench {
        let dir = tempfile::tempdir().unwrap();
        generate(
            &dir.path().join("shapes"),
            ShapesConfig {
                train,
                val,
                size: 64,
                seed: 1,
            },
        )
        .unwrap();
        Bench { dir }
    }

    pub(crate) fn path(&self, relative: &str) -> PathBuf {
        self.dir.path().join(relative)
    }

    /// A training of 64-pixel images; `extra` overrides its settings.
    pub(crate) fn train(&self, extra: &[&str]) -> Command {
        let mut command = self.command(&["train"]);
        command.args([
            "model=yolo9-t",
            "data=shapes/data.yaml",
            "imgsz=64",
            "batch=4",
            "workers=1",
            "device=cpu",
            "project=runs",
            "name=r",
            "eval_interval=1",
        ]);
        command.args(extra);
        command
    }

    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gpurun-train"));
        // One thread makes the arithmetic the same from run to run.
        command
            .args(words)
            .current_dir(self.dir.path())
            .env("OMP_NUM_THREADS", "1");
        command
    }

    pub(crate) fn status(&self, run: &str) -> Status {
        Status::from_json(&fs::read(self.path(run).join("status.json")).unwrap()).unwrap()
    }

    pub(crate) fn history(&self, run: &str) -> History {
        metrics::read(&fs::read(self.path(run).join("metrics.jsonl")).unwrap())
    }

    pub(crate) fn names(&self, folder: &str) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(self.path(folder))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

/// Runs are compared by this: the mean losses of their epochs.
pub(crate) fn losses(bench: &Bench, run: &str) -> Vec<f64> {
    bench
        .history(run)
        .rows
        .iter()
        .map(|row| row.train_loss.unwrap())
        .collect()
}

/// Runs to the end; the process must succeed.
pub(crate) fn succeed(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(
        output.status.success(),
        "{}\n{}",
        output.status,
        text(&output)
    );
    String::from_utf8(output.stdout).unwrap()
}

/// Runs to the end; the process must end with this code.
pub(crate) fn fail(command: &mut Command, code: i32) -> String {
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(code), "{}", text(&output));
    text(&output)
}

/// Starts a training and waits until its log says `line`.
pub(crate) fn start_until(command: &mut Command, line: &str) -> Child {
    let mut child = command
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut log = BufReader::new(child.stderr.take().unwrap());
    let mut seen = String::new();
    while !seen.contains(line) {
        assert_ne!(
            log.read_line(&mut seen).unwrap(),
            0,
            "the log ends without `{line}`:\n{seen}"
        );
    }
    child.stderr = Some(log.into_inner());
    child
}

pub(crate) fn signal(child: &Child, signal: &str) {
    let status = Command::new("kill")
        .args([signal, &child.id().to_string()])
        .status()
        .unwrap();
    assert!(status.success());
}

/// Waits for the end, with the rest of the log read so that the process never blocks on it.
pub(crate) fn wait(mut child: Child) -> ExitStatus {
    let mut rest = String::new();
    let mut log = BufReader::new(child.stderr.take().unwrap());
    while log.read_line(&mut rest).unwrap_or(0) > 0 {}
    child.wait().unwrap()
}

pub(crate) fn is_file(path: &Path) -> bool {
    path.is_file()
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}
