//! What learns: the network, its optimizer, its batches. Every process of a training has one.

#[cfg(test)]
mod tests;

use gpurun_dataset::SplitData;
use tch::{Device, Tensor};

use super::autobatch;
use super::device::usable_cpus;
use super::error::TrainError;
use super::precision::Precision;
use super::setup::check_images;
use super::state::State;
use crate::config::{Scheduler, TrainConfig};
use crate::data::{AugmentConfig, Loader, LoaderConfig, Padding};
use crate::dist::{Collective, Group, Shard, SyncGroup};
use crate::loss::Loss;
use crate::model::{Family, Network};
use crate::optim::{Decay, Ema, Optimizer, Schedule, ScheduleConfig};

/// Decoded images that the processes of a machine keep in memory between epochs, so that a small set is decoded once.
const CACHE_BYTES: u64 = 1 << 30;

pub(super) struct Learner {
    pub(super) device: Device,
    pub(super) model: Network,
    pub(super) ema: Option<Ema>,
    pub(super) optimizer: Optimizer,
    pub(super) schedule: Schedule,
    pub(super) loss: Loss,
    pub(super) loader: Loader,
    /// Epochs that have mosaics.
    pub(super) mosaic_epochs: usize,
    pub(super) precision: Precision,
    /// Batches whose losses are averaged in a step.
    pub(super) batches_per_step: usize,
    /// Parts that a batch is taken in, since it didn't fit the memory whole.
    pub(super) parts: usize,
    /// Images that fit; for tests of what happens when more are asked for.
    #[cfg(test)]
    pub(super) room: Option<usize>,
    /// The processes that train together; none where this one trains alone.
    pub(super) group: Option<&'static Group>,
}

impl Learner {
    /// Takes the parts together, and puts a number in the place of `batch = -1`. In a group, process 0's weights
    /// become everyone's.
    ///
    /// # Errors
    /// When the batch can't be found out or shared, or another process is gone.
    pub(super) fn new(
        config: &mut TrainConfig,
        classes: usize,
        train: SplitData,
        state: State,
        group: Option<&'static Group>,
    ) -> Result<Learner, TrainError> {
        let State {
            model,
            ema,
            optimizer,
            scaler,
            letterbox_pad,
            ..
        } = state;
        let device = model.device();
        resolve_batch(config, &model, &train, group)?;
        let loader_config = train_loader(config, padding(&letterbox_pad), device, group);
        let loader = Loader::new(train, classes, loader_config);
        let batches_per_step = config.batches_per_step();
        let steps = loader.batches().div_ceil(batches_per_step).max(1) as u64;
        if let Some(group) = group {
            model.synchronise(SyncGroup::leaked(Box::new(|tensor| {
                group.all_reduce_sum(tensor).map_err(Into::into)
            })));
            share_from_first(group, &model.float_tensors())?;
        }
        Ok(Learner {
            device,
            precision: Precision::of(config, device, scaler),
            batches_per_step,
            parts: 1,
            #[cfg(test)]
            room: None,
            loss: Loss::new(
                model.family(),
                config.aux_weight,
                group.map(|group| group as &dyn Collective),
            ),
            model,
            ema,
            optimizer,
            schedule: Schedule::new(schedule(config, steps)),
            loader,
            mosaic_epochs: mosaic_epochs(config),
            group,
        })
    }
}

/// Makes all processes' tensors those of process 0.
fn share_from_first(group: &Group, tensors: &[Tensor]) -> Result<(), TrainError> {
    let flat = flatten(tensors);
    group.broadcast(&flat, 0)?;
    unflatten(&flat, tensors);
    Ok(())
}

/// One vector of all values, in the order of the tensors.
pub(super) fn flatten(tensors: &[Tensor]) -> Tensor {
    let flat: Vec<Tensor> = tensors.iter().map(|tensor| tensor.flatten(0, -1)).collect();
    Tensor::cat(&flat, 0)
}

/// Puts the values of a vector made by [`flatten`] back where they came from.
pub(super) fn unflatten(flat: &Tensor, tensors: &[Tensor]) {
    let lengths: Vec<i64> = tensors.iter().map(|tensor| tensor.numel() as i64).collect();
    for (values, tensor) in flat.split_with_sizes(lengths, 0).iter().zip(tensors) {
        tensor.shallow_clone().copy_(&values.view_as(tensor));
    }
}

/// The first process measures, and all take what it found.
fn resolve_batch(
    config: &mut TrainConfig,
    model: &Network,
    train: &SplitData,
    group: Option<&Group>,
) -> Result<(), TrainError> {
    if !config.auto_batch {
        return Ok(());
    }
    let (rank, world) = group.map_or((0, 1), |group| (group.rank(), group.world()));
    if rank == 0 {
        config.batch = autobatch::choose(
            config,
            model,
            || most_targets(train, model, config.mixup > 0.0),
            world,
        )?;
    }
    if let Some(group) = group {
        let found = Tensor::from_slice(&[i64::from(config.batch)]);
        group.broadcast(&found, 0)?;
        config.batch = u32::try_from(found.int64_value(&[0])).unwrap_or(autobatch::FALLBACK);
        check_images(train.samples.len(), config.batch, world)?;
    }
    config.auto_batch = false;
    Ok(())
}

/// Of the fullest image, whose number of objects decides what the loss takes.
fn most_targets(train: &SplitData, model: &Network, has_mixup: bool) -> usize {
    let classes = usize::try_from(model.config().classes()).unwrap_or(usize::MAX);
    let counts = train.samples.iter().map(|sample| {
        // A file that can't be read is left out of the training too.
        let labels = train.annotations.labels(sample, classes);
        labels.map_or(0, |labels| labels.boxes.len())
    });
    // A mosaic holds four images' objects, and one that is blended with another a fifth's.
    let images = if has_mixup { 5 } else { 4 };
    counts.max().unwrap_or(0).max(1) * images
}

/// The training images, this process's share of each batch.
fn train_loader(
    config: &TrainConfig,
    padding: Padding,
    device: Device,
    group: Option<&Group>,
) -> LoaderConfig {
    let processes = group.map_or(1, Group::local_world);
    LoaderConfig {
        threads: loader_threads(config.workers, device, processes),
        seed: config.seed,
        padding,
        cache_bytes: cache_bytes(config.cache) / u64::from(processes),
        shard: group.map_or_else(Shard::default, Group::shard),
        augment: Some(AugmentConfig {
            mosaic: config.mosaic,
            mixup: config.mixup,
            mixup_scale: config.mixup_scale,
            degrees: config.degrees,
            shear: config.shear,
            mosaic_until: mosaic_epochs(config),
            translate: config.translate,
            scale: config.mosaic_scale,
            hsv: config.hsv_prob,
            flip_horizontal: config.flip_prob,
            ..match config.family {
                Family::Yolo9 => AugmentConfig::default(),
                Family::Yolox => AugmentConfig::yolox(),
            }
        }),
        ..LoaderConfig::train(config.imgsz, config.batch as usize)
    }
}

fn mosaic_epochs(config: &TrainConfig) -> usize {
    AugmentConfig::mosaic_epochs(config.epochs as usize, config.no_aug_epochs as usize)
}

/// As a checkpoint names it.
pub(super) fn padding(letterbox_pad: &str) -> Padding {
    match letterbox_pad {
        "center" => Padding::Center,
        _ => Padding::TopLeft,
    }
}

fn cache_bytes(all: bool) -> u64 {
    if all {
        available_memory() / 2
    } else {
        CACHE_BYTES
    }
}

/// `MemAvailable` of proc(5), in bytes; a gigabyte twice over where there is none.
fn available_memory() -> u64 {
    let memory = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = memory
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"));
    let kilobytes = line.and_then(|line| line.trim().strip_suffix(" kB")?.trim().parse().ok());
    kilobytes.map_or(2 * CACHE_BYTES, |kilobytes: u64| kilobytes * 1024)
}

/// No more threads than this process's share of the CPUs: they would only take turns. Where the CPUs train too, half of them at most.
pub(super) fn loader_threads(workers: u32, device: Device, processes: u32) -> usize {
    let cpus = usable_cpus().div_ceil(processes.max(1) as usize);
    let cpus = match device {
        Device::Cpu => cpus.div_ceil(2),
        _ => cpus,
    };
    (workers as usize).clamp(1, cpus)
}

fn schedule(config: &TrainConfig, steps_per_epoch: u64) -> ScheduleConfig {
    ScheduleConfig {
        decay: match config.scheduler {
            Scheduler::Linear => Decay::Linear,
            Scheduler::Cosine => Decay::Cosine,
            Scheduler::YoloxCosine => Decay::CosineToPlateau {
                epochs: config.no_aug_epochs.into(),
            },
        },
        learning_rate: config.lr0,
        warmup_start: config.warmup_lr_start,
        min_ratio: config.min_lr_ratio,
        momentum: config.momentum,
        warmup_momentum: config.warmup_momentum,
        steps_per_epoch,
        warmup_epochs: config.warmup_epochs.into(),
        epochs: config.epochs.into(),
    }
}
