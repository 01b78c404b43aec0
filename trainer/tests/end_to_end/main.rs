//! `gpurun-train` as a process, on a small generated dataset: whole runs, signals, a resume, a full disk.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod errors;
mod interruption;
mod run;
mod selection;
mod settings;
mod several;
mod support;
mod yolox;
