//! One training program under measurement: what it is asked, and when its log says what.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::data::{BATCH, Data};
use super::memory;
use crate::Error;
use crate::process::root;

/// How often the memory is looked at.
const SAMPLE: Duration = Duration::from_millis(200);

/// What one program came to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Measured {
    /// Over the first two epochs, with mosaic and the auxiliary head.
    pub(super) train_images_per_second: f64,
    /// Proportional share of the process and its children, at most, with a validation.
    pub(super) peak_memory_bytes: f64,
    /// From the start of the process to its word that training starts: the steps after that are training's.
    pub(super) start_to_first_step_seconds: f64,
    /// From the start of the process to the end of an epoch of one step.
    pub(super) start_to_first_loss_seconds: f64,
    /// From the beginning of the validation to its figures.
    pub(super) validation_images_per_second: f64,
}

/// A program to train with.
pub(super) struct Program {
    name: &'static str,
    path: PathBuf,
    model: &'static [&'static str],
}

impl Program {
    pub(super) fn gpurun_train(path: PathBuf) -> Self {
        Self {
            name: "gpurun-train",
            path,
            model: &["model=yolo9-t"],
        }
    }

    pub(super) fn libreyolo(python: &Path) -> Self {
        Self {
            name: "libreyolo",
            path: python.with_file_name("libreyolo"),
            model: &["model=LibreYOLO9t.pt", "pretrained=false"],
        }
    }

    /// Trains two of seventeen epochs and validates once; then one step.
    pub(super) fn measure(&self, data: &Data) -> Result<Measured, Error> {
        let mut run = self.start(&data.whole, &["eval_interval=2"])?;
        let started = run.wait_for("Starting training for")?;
        let first = run.wait_for("Epoch 1 - Average loss")?;
        let saved = run.wait_for("Checkpoint saved")?;
        let second = run.wait_for("Epoch 2 - Average loss")?;
        let validating = run.wait_for("Running validation")?;
        let validated = run.wait_for("Validation - mAP50")?;
        let peak_memory_bytes = run.end();
        let training = (first - started) + (second - saved);

        let mut step = self.start(&data.one_step, &["val=false"])?;
        let begin = step.begin;
        let first_step = step.wait_for("Starting training for")?;
        let first_loss = step.wait_for("Epoch 1 - Average loss")?;
        step.end();
        Ok(Measured {
            train_images_per_second: (2 * data.steps * BATCH) as f64 / training.as_secs_f64(),
            peak_memory_bytes: peak_memory_bytes as f64,
            start_to_first_step_seconds: (first_step - begin).as_secs_f64(),
            start_to_first_loss_seconds: (first_loss - begin).as_secs_f64(),
            validation_images_per_second: data.validated as f64
                / (validated - validating).as_secs_f64(),
        })
    }

    fn start(&self, data: &Path, extra: &[&str]) -> Result<Run, Error> {
        let folder = root().join("target/bench-train/runs");
        let mut command = Command::new(&self.path);
        command
            .arg("train")
            .args(self.model)
            .arg(format!("data={}", data.display()));
        // Of 17 epochs the last 15 are without mosaic, in both programs.
        command.args([
            "epochs=17",
            "batch=8",
            "imgsz=320",
            "device=cpu",
            "workers=2",
            "seed=0",
        ]);
        command
            .arg(format!("project={}", folder.display()))
            .arg(format!("name={}", self.name));
        command.arg("exist_ok=true").args(extra);
        command
            .env("OMP_NUM_THREADS", "2")
            .env("OMP_WAIT_POLICY", "PASSIVE");
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let _ = fs::remove_dir_all(folder.join(self.name));
        let begin = Instant::now();
        let mut process = command
            .spawn()
            .map_err(|error| format!("can't start {}: {error}", self.path.display()))?;
        let log = process.stderr.take().ok_or("its standard error is piped")?;
        Ok(Run {
            begin,
            watch: Watch::start(process.id()),
            process,
            log: BufReader::new(log),
            seen: String::new(),
            name: self.name,
        })
    }
}

/// A training in progress.
struct Run {
    begin: Instant,
    watch: Watch,
    process: Child,
    log: BufReader<ChildStderr>,
    seen: String,
    name: &'static str,
}

impl Run {
    /// When the log says so.
    fn wait_for(&mut self, words: &str) -> Result<Instant, Error> {
        loop {
            let mut line = vec![];
            // Progress bars end their lines with carriage returns, and needn't be text.
            if self.log.read_until(b'\n', &mut line)? == 0 {
                let name = self.name;
                return Err(format!("{name} ended before \"{words}\":\n{}", self.seen).into());
            }
            let line = String::from_utf8_lossy(&line);
            self.seen.push_str(&line);
            if line.contains(words) {
                return Ok(Instant::now());
            }
        }
    }

    /// Ends it; the most memory it took.
    fn end(mut self) -> u64 {
        let peak = self.watch.stop();
        let _ = self.process.kill();
        let _ = self.process.wait();
        peak
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A thread that looks at a process's memory.
struct Watch {
    peak: Arc<AtomicU64>,
    done: Arc<AtomicBool>,
}

impl Watch {
    fn start(process: u32) -> Self {
        let watch = Self {
            peak: Arc::default(),
            done: Arc::default(),
        };
        let (peak, done) = (Arc::clone(&watch.peak), Arc::clone(&watch.done));
        thread::spawn(move || {
            while !done.load(Ordering::Relaxed) {
                peak.fetch_max(memory::tree(process), Ordering::Relaxed);
                thread::sleep(SAMPLE);
            }
        });
        watch
    }

    fn stop(&self) -> u64 {
        self.done.store(true, Ordering::Relaxed);
        self.peak.load(Ordering::Relaxed)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.done.store(true, Ordering::Relaxed);
    }
}
