//! The thread that samples processes, GPUs and the disk. A driver or disk that hangs stops the samples, never
//! the heartbeat.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;
use std::time::Duration;

use gpurun_protocol::heartbeat::{Disk, GpuSample, Usage};

use super::journal::Journal;
use super::process::Stat;
use super::usage::{Units, UsageMeter};
use super::{clock, disk, gpu};

/// The newest samples.
#[derive(Debug, Clone, Default)]
pub(crate) struct Samples {
    pub(crate) usage: Option<Usage>,
    pub(crate) gpus: Vec<GpuSample>,
    pub(crate) disk: Option<Disk>,
}

/// What is sampled.
#[derive(Debug, Clone)]
pub(crate) struct SamplerConfig {
    pub(crate) home: PathBuf,
    pub(crate) disk_limit_bytes: Option<u64>,
    /// The training's first process.
    pub(crate) leader: u32,
    pub(crate) period: Duration,
}

/// A running sampler; it ends with the process.
#[derive(Debug)]
pub(crate) struct Sampler(Arc<Mutex<Samples>>);

impl Sampler {
    pub(crate) fn start(config: SamplerConfig, journal: Arc<Journal>) -> std::io::Result<Sampler> {
        let shared = Arc::new(Mutex::new(Samples::default()));
        let theirs = Arc::clone(&shared);
        thread::Builder::new()
            .name("sample".to_owned())
            .spawn(move || sample(&config, &theirs, &journal))?;
        Ok(Sampler(shared))
    }

    pub(crate) fn newest(&self) -> Samples {
        lock(&self.0).clone()
    }
}

fn sample(config: &SamplerConfig, shared: &Mutex<Samples>, journal: &Journal) {
    /// Walking the home may take a while: it rests this many times as long as it took.
    const REST: u32 = 20;
    const GPU_LIMIT: Duration = Duration::from_secs(10);

    let units = Units::of_this_system();
    let mut meter = UsageMeter::default();
    let mut disk_due = std::time::Instant::now();
    loop {
        let usage = meter.sample(&Stat::all(), config.leader, units, clock::now());
        lock(shared).usage = Some(usage);

        let began = std::time::Instant::now();
        if began >= disk_due {
            match disk::measure(&config.home, config.disk_limit_bytes) {
                Ok(measured) => lock(shared).disk = Some(measured),
                Err(error) => journal.note(&format!("can't measure the disk: {error}")),
            }
            disk_due = std::time::Instant::now() + began.elapsed() * REST;
        }
        let gpus = gpu::ask(GPU_LIMIT).unwrap_or_else(|error| {
            journal.note(&error);
            gpu::Answer::default()
        });
        lock(shared).gpus = gpus.gpus;
        thread::sleep(config.period);
    }
}

fn lock(shared: &Mutex<Samples>) -> MutexGuard<'_, Samples> {
    shared
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner())
}
