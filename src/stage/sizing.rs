//! How much disk a job needs. Disk is paid by what is allocated, and can't grow.

use crate::job::{JobSpec, StagedData, Train, checkpoint_megabytes};
use gpurun_lifecycle::Engine;
use gpurun_pricing::Gigabytes;
use rust_decimal::Decimal;

/// What fills the disk, in bytes, and the advice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DiskNeed {
    /// The data set as it lies on the box.
    pub(crate) data: u64,
    /// All checkpoints that the training keeps there.
    pub(crate) checkpoints: u64,
    /// The engine and what it brings along.
    pub(crate) engine: u64,
    /// Whole gigabytes, with 30 percent of headroom.
    pub(crate) advised: Gigabytes,
}

const MEGABYTE: u64 = 1_000_000;
const GIGABYTE: u64 = 1_000_000_000;

/// The engines' own defaults, for jobs that leave them open.
const EPOCHS: u64 = 300;
const SAVE_PERIOD: u64 = 10;

/// Sums up what `job` puts on the disk: data, checkpoints, engine, and 30 percent on top.
pub(crate) fn disk_need(job: &JobSpec, data: Option<&StagedData>) -> DiskNeed {
    let data = data.map_or(0, |data| data.bytes);
    let checkpoints = match &job.train {
        Some(Train::Model(model)) => {
            let epochs = model.epochs.map_or(EPOCHS, i64::unsigned_abs);
            let period = model.save_period.map_or(SAVE_PERIOD, i64::unsigned_abs);
            // best.pt and last.pt, and last.pt once more while it is replaced.
            let files = 3 + epochs.checked_div(period).unwrap_or(0);
            files * MEGABYTE * checkpoint_megabytes(&model.model)
        }
        Some(Train::Command(_)) => 10 * MEGABYTE * checkpoint_megabytes(""),
        None => 0,
    };
    let engine = match job.engine {
        // libtorch for CPU, or with the libraries of CUDA.
        Engine::GpurunTrain if job.gpu.count() == 0 => GIGABYTE,
        Engine::GpurunTrain => 6 * GIGABYTE,
        Engine::Libreyolo if job.gpu.count() == 0 => 2 * GIGABYTE,
        Engine::Libreyolo => 8 * GIGABYTE,
        Engine::Command => 0,
    };
    let used = data.saturating_add(checkpoints).saturating_add(engine);
    let advised = (Decimal::from(used) * Decimal::new(13, 1) / Decimal::from(GIGABYTE)).ceil();
    DiskNeed {
        data,
        checkpoints,
        engine,
        advised: Gigabytes::new(advised.max(Decimal::ONE)),
    }
}
