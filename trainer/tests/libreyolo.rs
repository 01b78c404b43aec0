//! Files of ours in the hands of the real LibreYOLO. Long, so only for `cargo xtask test --full`.
//!
//! `GPURUN_LIBREYOLO_PYTHON` names a Python that has libreyolo 1.6.0 and torch.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use gpurun_dataset::shapes::{ShapesConfig, generate};
use gpurun_protocol::metrics;
use serde_json::Value;

/// The Python that has LibreYOLO, when the long tests are asked for.
#[expect(clippy::print_stderr, reason = "a skipped test says so")]
fn python() -> Option<PathBuf> {
    if std::env::var_os("GPURUN_TEST_FULL").is_none() {
        eprintln!("skipped: GPURUN_TEST_FULL is not set");
        return None;
    }
    let python = std::env::var_os("GPURUN_LIBREYOLO_PYTHON");
    if python.is_none() {
        eprintln!("skipped: GPURUN_LIBREYOLO_PYTHON names no Python with libreyolo==1.6.0");
    }
    python.map(PathBuf::from)
}

/// A short training on drawn shapes, long enough that something is detected.
struct Run {
    dir: tempfile::TempDir,
    model: &'static str,
}

impl Run {
    fn new(model: &'static str, epochs: u32) -> Run {
        let dir = tempfile::tempdir().unwrap();
        generate(
            &dir.path().join("shapes"),
            ShapesConfig {
                train: 96,
                val: 24,
                size: 128,
                seed: 3,
            },
        )
        .unwrap();
        let run = Run { dir, model };
        run.train(&[&format!("epochs={epochs}"), "name=r"]);
        run
    }

    fn train(&self, extra: &[&str]) {
        let status = Command::new(env!("CARGO_BIN_EXE_gpurun-train"))
            .args([
                "train",
                &format!("model={}", self.model),
                "data=shapes/data.yaml",
                "imgsz=128",
                "batch=8",
                "device=cpu",
            ])
            .args([
                "project=runs",
                "eval_interval=4",
                "no_aug_epochs=100",
                "warmup_epochs=1",
                "ema_decay=0.99",
            ])
            .args(extra)
            .current_dir(self.dir.path())
            .status()
            .unwrap();
        assert!(status.success());
    }

    fn path(&self, relative: &str) -> PathBuf {
        self.dir.path().join(relative)
    }

    /// A script of LibreYOLO's Python, in the folder of the run.
    fn python(&self, python: &Path, script: &str) -> String {
        let output = Command::new(python)
            .args(["-c", script])
            .current_dir(self.dir.path())
            .env("OMP_NUM_THREADS", "1")
            .output()
            .unwrap();
        let log = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{log}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// The `libreyolo` program beside the Python.
    fn libreyolo(&self, python: &Path) -> Command {
        let mut command = Command::new(python.with_file_name("libreyolo"));
        command
            .current_dir(self.dir.path())
            .env("OMP_NUM_THREADS", "1");
        command
    }
}

#[test]
fn our_weights_are_theirs() {
    go_to_and_fro("yolo9-t");
}

#[test]
fn our_yolox_is_theirs() {
    go_to_and_fro("yolox-n");
}

/// Trained here, measured there, resumed there, resumed here.
fn go_to_and_fro(model: &'static str) {
    let Some(python) = python() else { return };
    let run = Run::new(model, 12);

    let output = run
        .libreyolo(&python)
        .args(["metadata", "path=runs/r/weights/best.pt", "--json"])
        .output()
        .unwrap();
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (&metadata["valid"], &metadata["errors"]),
        (&true.into(), &Value::Array(vec![])),
        "{metadata}"
    );
    assert_eq!(metadata["metadata"]["names"]["2"], "triangle");

    let data = run.path("shapes/data.yaml");
    let theirs = run.python(
        &python,
        &format!(
            "import contextlib, sys\n\
             from libreyolo import LibreYOLO\n\
             with contextlib.redirect_stdout(sys.stderr):\n\
             \x20   model = LibreYOLO('runs/r/weights/best.pt', device='cpu')\n\
             \x20   metrics = model.val(data={data:?}, iou=0.65, conf=0.001, imgsz=128, batch=8, workers=0)\n\
             print(dict(metrics)['metrics/mAP50-95'])"
        ),
    );
    let theirs: f64 = theirs.trim().parse().unwrap();
    let rows = metrics::read(&fs::read(run.path("runs/r/metrics.jsonl")).unwrap()).rows;
    let ours = rows.last().unwrap().best_metric.unwrap();
    assert!(ours > 0.02, "the run learnt too little to compare: {ours}");
    assert!(
        (ours - theirs).abs() < 0.005,
        "ours {ours}, theirs {theirs}"
    );

    // And on from where ours stopped: weights, averages and optimizer of last.pt.
    let resumed = run
        .libreyolo(&python)
        .args([
            "train",
            "model=runs/r/weights/last.pt",
            "resume=true",
            "epochs=13",
            "device=cpu",
            "workers=0",
        ])
        .arg(format!("data={}", data.display()))
        .args(["eval_interval=100", "--json"])
        .output()
        .unwrap();
    let log = String::from_utf8_lossy(&resumed.stderr);
    assert!(resumed.status.success(), "{log}");
    for line in [
        "Optimizer state",
        "EMA weights restored",
        "EMA updates restored: 144",
    ] {
        assert!(log.contains(line), "`{line}` is not in\n{log}");
    }
    assert!(!log.contains("Could not load"), "{log}");

    // Then ours again, from a checkpoint that theirs wrote.
    run.train(&["epochs=14", "resume=runs/r/weights/last.pt"]);
    let rows = metrics::read(&fs::read(run.path("runs/r/metrics.jsonl")).unwrap()).rows;
    assert_eq!(
        rows.iter().map(|row| row.epoch).collect::<Vec<_>>(),
        (1..=14).collect::<Vec<_>>()
    );
    let loss = |epoch: usize| rows[epoch - 1].train_loss.unwrap();
    assert!(
        loss(14) < loss(10) * 1.1,
        "epoch 10 {}, epoch 14 {}",
        loss(10),
        loss(14)
    );
}

#[test]
fn their_monitor_opens_our_run() {
    let Some(python) = python() else { return };
    let run = Run::new("yolo9-t", 1);
    let mut monitor =
        Monitor::start(
            run.libreyolo(&python)
                .args(["monitor", "runs", "--no-browser", "--json"]),
        );
    let runs = monitor.get("/api/runs");
    assert_eq!(
        (&runs["runs"][0]["name"], &runs["runs"][0]["state"]),
        (&"r".into(), &"completed".into()),
        "{runs}"
    );
    assert_eq!(runs["runs"][0]["progress"], 1.0);
    assert_eq!(monitor.get("/api/status?run=r")["model_family"], "yolo9");
    let rows = monitor.get("/api/metrics?run=r");
    assert_eq!(rows["rows"].as_array().unwrap().len(), 1, "{rows}");
    assert!(
        monitor.get("/api/log?run=r")["log"]
            .as_str()
            .unwrap()
            .contains("Epoch 1 - Average loss")
    );
}

/// `libreyolo monitor`, ended with the test.
struct Monitor {
    child: Child,
    address: String,
}

impl Monitor {
    fn start(command: &mut Command) -> Monitor {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        let started: Value = serde_json::from_str(&line).unwrap();
        let url = started["url"].as_str().unwrap();
        let address = url
            .trim_start_matches("http://")
            .trim_end_matches('/')
            .to_owned();
        Monitor { child, address }
    }

    fn get(&mut self, path: &str) -> Value {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        write!(
            stream,
            "GET {path} HTTP/1.0\r\nHost: {}\r\n\r\n",
            self.address
        )
        .unwrap();
        let mut response = String::new();
        stream.read_to_string(&mut response).unwrap();
        let (head, body) = response.split_once("\r\n\r\n").unwrap();
        assert!(head.contains(" 200 "), "{head}");
        serde_json::from_str(body).unwrap()
    }
}

impl Drop for Monitor {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
