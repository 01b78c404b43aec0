//! Where one training step's time goes, in CPU milliseconds of a single thread:
//!
//! `OMP_NUM_THREADS=1 cargo run --release -p gpurun-train --example step_time -- [model] [side] [batch] [nchw]`
#![expect(clippy::print_stdout, reason = "prints its measurements")]

use std::error::Error;
use std::fs;

use gpurun_train::loss::{Loss, pad_targets};
use gpurun_train::model::{Architecture, Network, NetworkConfig};
use gpurun_train::optim::{Ema, EmaConfig, Optimizer, OptimizerConfig};
use tch::{Device, Kind, Tensor};

const STEPS: usize = 6;
const OBJECTS: usize = 12;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let argument = |index: usize, default: &'static str| {
        arguments.get(index).map_or(default, |text| text.as_str())
    };
    let architecture: Architecture = argument(0, "yolo9-t").parse()?;
    let (side, batch): (i64, i64) = (argument(1, "320").parse()?, argument(2, "8").parse()?);
    let channels_last = argument(3, "nhwc") != "nchw";
    tch::set_num_threads(1);
    tch::manual_seed(0);
    for aux in [false, true] {
        let mut model = Network::new(NetworkConfig::scratch(architecture, 3, aux), Device::Cpu);
        if channels_last {
            model.to_channels_last();
        }
        let rows = measure(&model, side, batch)?;
        println!(
            "{architecture}, {side} px, batch {batch}, auxiliary branch: {aux}, kernels as NHWC: {channels_last}"
        );
        for (phase, milliseconds) in &rows {
            println!("  {phase:<24} {milliseconds:8.1} ms");
        }
        let total: f64 = rows
            .iter()
            .take(6)
            .map(|(_, milliseconds)| milliseconds)
            .sum();
        println!("  {:<24} {total:8.1} ms", "a step");
    }
    Ok(())
}

/// CPU time per phase, the mean of all steps but the first two.
fn measure(
    model: &Network,
    side: i64,
    batch: i64,
) -> Result<Vec<(&'static str, f64)>, Box<dyn Error>> {
    let x = Tensor::rand([batch, 3, side, side], (Kind::Float, Device::Cpu));
    let targets = pad_targets(&vec![objects(); usize::try_from(batch)?]);
    let mut sgd = Optimizer::new(
        model.parameters(),
        OptimizerConfig {
            learning_rate: 1e-3,
            ..OptimizerConfig::default()
        },
    );
    let mut ema = Ema::new(model, EmaConfig::default());
    let mut phases = Phases::default();
    for step in 0..STEPS {
        phases.recording = step > 1;
        let outputs = phases.time("forward", || Ok(model.forward_train(&x)))?;
        let items = phases.time("loss", || {
            Ok(Loss::new(model.family(), 0.25, None).compute(&outputs, &targets))
        })?;
        phases.time("clear gradients", || Ok(sgd.zero_grad()?))?;
        phases.time("backward", || {
            items.total.backward();
            Ok(())
        })?;
        phases.time("optimizer", || Ok(sgd.step()?))?;
        phases.time("average", || Ok(ema.update(model)?))?;
        phases.time("(evaluation forward)", || {
            drop(model.forward_eval(&x));
            Ok(())
        })?;
    }
    let steps = STEPS as f64 - 2.0;
    Ok(phases
        .rows
        .into_iter()
        .map(|(phase, seconds)| (phase, seconds * 1e3 / steps))
        .collect())
}

#[derive(Default)]
struct Phases {
    rows: Vec<(&'static str, f64)>,
    recording: bool,
}

impl Phases {
    fn time<T>(
        &mut self,
        phase: &'static str,
        work: impl FnOnce() -> Result<T, Box<dyn Error>>,
    ) -> Result<T, Box<dyn Error>> {
        let start = cpu_seconds()?;
        let result = work()?;
        let seconds = cpu_seconds()? - start;
        if self.recording {
            match self.rows.iter_mut().find(|(name, _)| *name == phase) {
                Some((_, sum)) => *sum += seconds,
                None => self.rows.push((phase, seconds)),
            }
        }
        Ok(result)
    }
}

/// Time this thread has spent on a processor.
fn cpu_seconds() -> Result<f64, Box<dyn Error>> {
    let text = fs::read_to_string("/proc/thread-self/schedstat")?;
    let nanoseconds: f64 = text.split(' ').next().ok_or("no field")?.parse()?;
    Ok(nanoseconds / 1e9)
}

/// Small and large boxes all over the canvas.
fn objects() -> Vec<[f32; 5]> {
    let object = |index: usize| {
        let share = index as f32 / OBJECTS as f32;
        let side = 0.08 + 0.3 * (1.0 - share);
        let (x, y) = (share * 0.6, (share * 5.0).fract() * 0.6);
        [(index % 3) as f32, x, y, x + side, y + side]
    };
    (0..OBJECTS).map(object).collect()
}
