//! What a job puts on its disk.

use crate::job::{JobSpec, Train, checkpoint_megabytes};
use gpurun_lifecycle::Engine;
use gpurun_pricing::{DiskNeed, DiskPart, Gigabytes};
use rust_decimal_macros::dec;

const MEGABYTE: u64 = 1_000_000;
const GIGABYTE: u64 = 1_000_000_000;

/// The engines' own defaults, for jobs that leave them open.
const EPOCHS: u64 = 300;
const SAVE_PERIOD: u64 = 10;
/// Files that a command of the person's own is thought to keep.
const OF_A_COMMAND: u64 = 10;

/// Where a job's disk is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DiskOf {
    /// A box on this machine.
    Local,
    /// A box that somebody rents out.
    Rented,
}

impl DiskOf {
    /// Some providers let no smaller disk than 10 GB, and a cent buys it.
    fn smallest(self) -> Gigabytes {
        match self {
            Self::Local => Gigabytes::new(dec!(1)),
            Self::Rented => Gigabytes::new(dec!(10)),
        }
    }
}

/// Sums up what `job` puts on its disk: `data` bytes, checkpoints, engine, and 30 percent on top.
///
/// An archive is unpacked as it arrives, so it takes no room beside its content.
pub(crate) fn disk_need(job: &JobSpec, data: u64, disk: DiskOf) -> DiskNeed {
    let (files, megabytes) = match &job.train {
        Some(Train::Model(model)) => {
            let epochs = model.epochs.map_or(EPOCHS, i64::unsigned_abs);
            let period = model.save_period.map_or(SAVE_PERIOD, i64::unsigned_abs);
            // best.pt and last.pt, and last.pt once more while it is replaced.
            let files = 3 + epochs.checked_div(period).unwrap_or(0);
            (files, checkpoint_megabytes(&model.model))
        }
        Some(Train::Command(_)) => (OF_A_COMMAND, checkpoint_megabytes("")),
        None => (0, 0),
    };
    let checkpoints = files.saturating_mul(megabytes).saturating_mul(MEGABYTE);
    let sum = Some(format!("{files} files x {megabytes} MB")).filter(|_| files > 0);
    let part = |what: &str, bytes, sum| DiskPart {
        what: what.to_owned(),
        bytes,
        sum,
    };
    let mut parts = vec![
        part("data", data, None),
        part("checkpoints", checkpoints, sum.clone()),
    ];
    if disk == DiskOf::Rented {
        // Each checkpoint lies there twice until it was fetched.
        parts.push(part("outbox", checkpoints, sum));
    }
    parts.push(part("install", engine(job), None));
    DiskNeed::of(parts, disk.smallest())
}

/// libtorch for CPU, or with the libraries of CUDA.
fn engine(job: &JobSpec) -> u64 {
    match job.engine {
        Engine::GpurunTrain if job.gpu.count() == 0 => GIGABYTE,
        Engine::GpurunTrain => 6 * GIGABYTE,
        Engine::Libreyolo if job.gpu.count() == 0 => 2 * GIGABYTE,
        Engine::Libreyolo => 8 * GIGABYTE,
        Engine::Command => 0,
    }
}
