//! `gpurun-train profile`: what bounds a training step here, measured on the real data.
//!
//! The window and the order and thresholds of the verdict are LibreYOLO's profiler's.

use std::fmt;
use std::time::{Duration, Instant};

use serde::Serialize;
use tch::{Cuda, Device};

use super::error::TrainError;
use super::follow::catch;
use super::learner::Learner;
use super::setup::Setup;
use super::state::State;
use super::step::to_input;
use crate::config::Code;
use crate::data::{Batch, Epoch, Loader};
use crate::loss::pad_targets;
use crate::shim::device::{MemoryUse, cuda_memory, reset_peak};

/// Share of a step spent waiting for data, from which the loader is what bounds it.
const DATALOADER_FRACTION: f64 = 0.20;
/// Calls of the driver for memory in a step, from which the allocator is what bounds it.
const DRIVER_CALLS: f64 = 5.0;

/// How many steps are measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// Not measured: caches fill, kernels are chosen.
    pub warmup: usize,
    /// Half of them without waiting for the device, half waiting after each phase.
    pub steps: usize,
}

impl Default for Window {
    fn default() -> Self {
        Self {
            warmup: 5,
            steps: 20,
        }
    }
}

/// What bounds a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Bound {
    #[serde(rename = "memory-pressure")]
    MemoryPressure,
    #[serde(rename = "dataloader")]
    Dataloader,
    #[serde(rename = "compute")]
    Compute,
}

/// The profile.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ProfileReport {
    pub schema_version: u32,
    pub meta: Meta,
    pub window: MeasuredWindow,
    pub real: Real,
    /// Milliseconds of each phase, with the device waited for after it.
    pub composition_ms: Composition,
    pub composition_total_ms: f64,
    pub img_per_s: f64,
    pub bound: Bound,
    pub bound_why: String,
    /// What would make it faster.
    pub levers: &'static str,
    /// In tensors on a GPU; of the whole process on a CPU.
    pub peak_memory_bytes: u64,
}

/// What was profiled.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Meta {
    pub model: String,
    pub device: String,
    pub batch: u32,
    pub imgsz: u32,
    pub amp: bool,
    pub amp_dtype: &'static str,
    pub workers: u32,
    pub threads: i32,
}

/// The steps that were measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct MeasuredWindow {
    pub warmup: usize,
    pub real_steps: usize,
    pub synced_steps: usize,
}

/// Means of the steps as training does them, from the call for the batch to the end of the step.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Real {
    pub step_ms: f64,
    /// Waiting for the batch.
    pub dataload_ms: f64,
    pub compute_ms: f64,
    pub img_per_s: f64,
    pub dataload_frac: f64,
}

/// Means of the phases.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Composition {
    pub to_device: f64,
    /// With the loss.
    pub forward: f64,
    pub backward: f64,
    /// With the moving average.
    pub optimizer: f64,
}

/// Trains a few steps and forgets them: no run directory is made.
///
/// # Errors
/// As a training's first steps.
pub fn profile(setup: Setup, window: Window) -> Result<ProfileReport, TrainError> {
    catch(|| {
        let Setup {
            mut config,
            data,
            train,
            source,
            device,
            ..
        } = setup;
        let classes = data.names.len();
        let state = State::build(&config, source, classes, device)?;
        let model = state.model.config().architecture();
        let model = format!("{}-{}", model.family().title(), model.size());
        let mut learner = Learner::new(&mut config, classes, train, state, None)?;
        let meta = Meta {
            model,
            device: match device {
                Device::Cuda(card) => format!("cuda:{card}"),
                _ => "cpu".to_owned(),
            },
            batch: config.batch,
            imgsz: config.imgsz,
            amp: config.amp && device.is_cuda(),
            amp_dtype: config.amp_dtype.name(),
            workers: config.workers,
            threads: tch::get_num_threads(),
        };
        measure(&mut learner, window, meta)
    })
}

fn measure(learner: &mut Learner, window: Window, meta: Meta) -> Result<ProfileReport, TrainError> {
    let mut batches = Batches::new(&learner.loader);
    for _ in 0..window.warmup {
        learner.train_step(&[batches.next(&learner.loader)?.0])?;
    }
    let device = learner.device;
    if let Device::Cuda(card) = device {
        reset_peak(card)?;
    }
    let before = memory(device)?;

    let real_steps = window.steps.div_ceil(2).max(1);
    let (mut waited, mut images) = (Duration::ZERO, 0);
    wait_for(device);
    let begin = Instant::now();
    for _ in 0..real_steps {
        let (batch, wait) = batches.next(&learner.loader)?;
        waited += wait;
        images += batch.len();
        // Reading the loss waits for the device, here as in training.
        let _ = learner.train_step(&[batch])?.total.double_value(&[]);
    }
    let elapsed = begin.elapsed();
    let driver_calls = memory(device)?.driver_calls_since(&before) / real_steps as f64;

    let synced_steps = (window.steps - window.steps.div_ceil(2)).max(1);
    let mut sum = Composition::default();
    for _ in 0..synced_steps {
        let batch = batches.next(&learner.loader)?.0;
        phases(learner, &batch, &mut sum)?;
    }
    let mean = |sum: f64| round(sum / synced_steps as f64);
    let composition_ms = Composition {
        to_device: mean(sum.to_device),
        forward: mean(sum.forward),
        backward: mean(sum.backward),
        optimizer: mean(sum.optimizer),
    };
    let real = real(elapsed, waited, real_steps, images);
    let (bound, bound_why) = verdict(&real, driver_calls);
    Ok(ProfileReport {
        schema_version: 1,
        meta,
        window: MeasuredWindow {
            warmup: window.warmup,
            real_steps,
            synced_steps,
        },
        real,
        composition_ms,
        composition_total_ms: round(
            composition_ms.to_device
                + composition_ms.forward
                + composition_ms.backward
                + composition_ms.optimizer,
        ),
        img_per_s: real.img_per_s,
        bound,
        bound_why,
        levers: bound.levers(),
        peak_memory_bytes: peak(device)?,
    })
}

/// Batches without end, epoch after epoch.
struct Batches {
    epoch: usize,
    batches: Epoch,
}

impl Batches {
    fn new(loader: &Loader) -> Self {
        Self {
            epoch: 0,
            batches: loader.epoch(0),
        }
    }

    /// The next one, and how long it was waited for.
    fn next(&mut self, loader: &Loader) -> Result<(Batch, Duration), TrainError> {
        let begin = Instant::now();
        if let Some(batch) = self.batches.next() {
            return Ok((batch, begin.elapsed()));
        }
        self.epoch += 1;
        self.batches = loader.epoch(self.epoch);
        let batch = self.batches.next().ok_or_else(|| {
            let message = "none of the training images can be read";
            TrainError::new(Code::DataInvalid, "ValueError", message)
        })?;
        Ok((batch, begin.elapsed()))
    }
}

/// One step, each phase with the device waited for; adds milliseconds.
fn phases(learner: &mut Learner, batch: &Batch, sum: &mut Composition) -> Result<(), TrainError> {
    let device = learner.device;
    let mut last = Instant::now();
    let mut lap = || {
        wait_for(device);
        let elapsed = last.elapsed();
        last = Instant::now();
        elapsed.as_secs_f64() * 1e3
    };
    let images = to_input(batch, device, learner.model.family().pixels())?;
    sum.to_device += lap();
    learner.optimizer.zero_grad()?;
    let outputs = learner
        .precision
        .run(device, || learner.model.forward_train(&images))?;
    let items = learner.loss.compute(&outputs, &pad_targets(&batch.targets));
    sum.forward += lap();
    learner.precision.scaled(&items.total).f_backward()?;
    sum.backward += lap();
    if learner
        .precision
        .unscale(|| learner.optimizer.gradients())?
    {
        learner.optimizer.step()?;
    }
    if let Some(ema) = &mut learner.ema {
        ema.update(&learner.model)?;
    }
    sum.optimizer += lap();
    Ok(())
}

fn real(elapsed: Duration, waited: Duration, steps: usize, images: usize) -> Real {
    let milliseconds = |time: Duration| time.as_secs_f64() * 1e3 / steps as f64;
    let (step, wait) = (milliseconds(elapsed), milliseconds(waited));
    Real {
        step_ms: round(step),
        dataload_ms: round(wait),
        compute_ms: round(step - wait),
        img_per_s: round(images as f64 / elapsed.as_secs_f64().max(1e-9)),
        dataload_frac: round(wait / step.max(1e-9)),
    }
}

/// Memory first, since it slows all else; then the loader; kernels aren't traced, so the rest is compute.
fn verdict(real: &Real, driver_calls: f64) -> (Bound, String) {
    if driver_calls >= DRIVER_CALLS {
        let why = format!("{driver_calls:.0} calls of the driver for memory in a step");
        return (Bound::MemoryPressure, why);
    }
    let percent = real.dataload_frac * 100.0;
    let why = format!("{percent:.0} % of a step is spent waiting for data");
    if real.dataload_frac >= DATALOADER_FRACTION {
        return (Bound::Dataloader, why);
    }
    (Bound::Compute, why)
}

impl Bound {
    fn levers(self) -> &'static str {
        match self {
            Self::MemoryPressure => "a smaller batch or imgsz",
            Self::Dataloader => {
                "more workers or CPUs, lighter augmentation; a faster GPU buys nothing"
            }
            Self::Compute => "mixed precision, a smaller model or imgsz, a faster device",
        }
    }
}

/// What the allocator has asked the driver for.
fn memory(device: Device) -> Result<MemoryUse, TrainError> {
    match device {
        Device::Cuda(card) => Ok(cuda_memory(card)?),
        _ => Ok(MemoryUse::default()),
    }
}

fn peak(device: Device) -> Result<u64, TrainError> {
    match device {
        Device::Cuda(card) => Ok(u64::try_from(cuda_memory(card)?.peak_allocated).unwrap_or(0)),
        _ => Ok(process_peak()),
    }
}

/// `VmHWM` of proc(5), in bytes; 0 where there is none.
fn process_peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.trim().strip_suffix(" kB")?.trim().parse().ok());
    kilobytes.map_or(0, |kilobytes: u64| kilobytes * 1024)
}

fn wait_for(device: Device) {
    if let Device::Cuda(card) = device {
        Cuda::synchronize(card as i64);
    }
}

/// To a thousandth.
fn round(value: f64) -> f64 {
    (value * 1e3).round() / 1e3
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::MemoryPressure => "memory-pressure",
            Self::Dataloader => "dataloader",
            Self::Compute => "compute",
        })
    }
}

/// A few lines for a person.
impl fmt::Display for ProfileReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Meta {
            model,
            device,
            batch,
            imgsz,
            ..
        } = &self.meta;
        let Real {
            step_ms,
            dataload_ms,
            ..
        } = self.real;
        let Composition {
            to_device,
            forward,
            backward,
            optimizer,
        } = self.composition_ms;
        writeln!(f, "{model}, {imgsz} px, batch {batch}, {device}")?;
        writeln!(
            f,
            "{:.1} img/s: a step takes {step_ms:.0} ms, {dataload_ms:.0} of them waiting for data",
            self.img_per_s
        )?;
        writeln!(
            f,
            "to device {to_device:.1} ms, forward and loss {forward:.1}, backward {backward:.1}, optimizer {optimizer:.1}"
        )?;
        writeln!(
            f,
            "peak memory {:.0} MB",
            self.peak_memory_bytes as f64 / 1e6
        )?;
        writeln!(f, "bound by {}: {}", self.bound, self.bound_why)?;
        writeln!(f, "faster by: {}", self.levers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_wait(milliseconds: u64) -> Real {
        real(
            Duration::from_secs(1),
            Duration::from_millis(milliseconds),
            10,
            80,
        )
    }

    #[test]
    fn means_are_of_a_step() {
        let real = with_wait(200);
        assert_eq!(
            (real.step_ms, real.dataload_ms, real.compute_ms),
            (100.0, 20.0, 80.0)
        );
        assert_eq!((real.img_per_s, real.dataload_frac), (80.0, 0.2));
    }

    #[test]
    fn memory_comes_before_data_and_data_before_compute() {
        assert_eq!(verdict(&with_wait(200), 5.0).0, Bound::MemoryPressure);
        assert_eq!(verdict(&with_wait(200), 4.9).0, Bound::Dataloader);
        assert_eq!(verdict(&with_wait(199), 0.0).0, Bound::Compute);
    }
}
