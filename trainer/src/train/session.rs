//! A run in memory: network, optimizer, data, files.

use std::time::Instant;

use gpurun_protocol::summary::EpochEvent;
use tch::{Cuda, Device};

use super::error::TrainError;
use super::restore::{load, load_all};
use super::setup::Setup;
use super::source::Source;
use super::validate::{Validator, ValidatorConfig};
use crate::checkpoint::{Best, Metadata, Position};
use crate::config::{Code, Scheduler, Setting, TrainConfig, record};
use crate::data::{AugmentConfig, Loader, LoaderConfig, Padding};
use crate::loss::DetectionLoss;
use crate::model::{Size, Yolo9, Yolo9Config};
use crate::optim::{Decay, Ema, EmaConfig, Schedule, ScheduleConfig, Sgd, SgdConfig};
use crate::run_dir::{History, RunDir, RunFacts, StatusFile, log};

/// Decoded images kept in memory between epochs, so that a small set is decoded once.
const CACHE_BYTES: u64 = 1 << 30;

/// LibreYOLO builds a scratch network for 80 classes before it fits the dataset's; only size t's class
/// towers are wider for it.
const SCRATCH_CLASS_WIDTH_T: i64 = 80;

pub(super) struct Session {
    pub(super) config: TrainConfig,
    pub(super) record: Vec<(String, Setting)>,
    pub(super) metadata: Metadata,
    pub(super) device: Device,
    pub(super) model: Yolo9,
    pub(super) ema: Option<Ema>,
    pub(super) sgd: Sgd,
    pub(super) schedule: Schedule,
    pub(super) loss: DetectionLoss,
    pub(super) loader: Loader,
    pub(super) validator: Option<Validator>,
    pub(super) run_dir: RunDir,
    pub(super) history: History,
    pub(super) status: StatusFile,
    pub(super) events: Vec<EpochEvent>,
    pub(super) best: Best,
    /// The epoch in flight or the next, counted from 0.
    pub(super) epoch: u32,
    /// Where in it an earlier process stopped.
    pub(super) position: Option<Position>,
    pub(super) last_loss: f64,
    pub(super) started: Instant,
}

impl Session {
    /// Builds everything, the run directory last.
    ///
    /// # Errors
    /// When the weights don't fit, the device has no memory, or the directory can't be made.
    pub(super) fn begin(setup: Setup) -> Result<Session, TrainError> {
        let started = Instant::now();
        let Setup {
            config,
            data,
            train_samples,
            val_samples,
            source,
            device,
            continued,
        } = setup;
        tch::manual_seed(i64::try_from(config.seed).unwrap_or(0));
        if let Device::Cuda(_) = device {
            Cuda::manual_seed_all(config.seed);
            Cuda::cudnn_set_benchmark(true);
        }
        let mut state = State::build(&config, source, data.names.len(), device)?;
        let metadata = Metadata {
            model_family: "yolo9".to_owned(),
            size: state.size.to_string(),
            task: "detect".to_owned(),
            names: data.names.clone(),
            imgsz: config.imgsz,
            letterbox_pad: state.letterbox_pad.clone(),
        };
        let padding = padding(&state.letterbox_pad);
        let loader = Loader::new(
            train_samples,
            data.names.len(),
            train_loader(&config, padding, device),
        );
        let validator = (!val_samples.is_empty()).then(|| {
            Validator::new(
                val_samples,
                &data,
                &ValidatorConfig::of_training(&config, padding, device),
            )
        });
        let steps = u64::try_from(loader.batches()).unwrap_or(1).max(1);
        let schedule = Schedule::new(schedule(&config, steps));

        let run_dir = match &continued {
            Some(path) => RunDir::open(path)?,
            None => RunDir::create(&config.project, &config.name, config.exist_ok)?,
        };
        log::open_train_log(&run_dir, continued.is_some())?;
        let record = record(&config, &metadata.size, data.names.len());
        run_dir.write_config(&record)?;
        let history = History::begin(&run_dir, state.epoch + 1, state.row.as_deref())?;
        let facts = RunFacts {
            model_size: metadata.size.clone(),
            total_epochs: config.epochs,
            start_epoch: state.epoch + 1,
            steps_per_epoch: steps,
        };
        Ok(Session {
            record: record
                .into_iter()
                .map(|(key, value)| (key.to_owned(), value))
                .collect(),
            status: StatusFile::begin(&run_dir, &facts, history.rows().last()),
            history,
            loss: DetectionLoss {
                aux_weight: config.aux_weight,
            },
            config,
            metadata,
            device,
            model: state.model,
            ema: state.ema,
            sgd: state.sgd,
            schedule,
            loader,
            validator,
            run_dir,
            events: vec![],
            best: state.best,
            epoch: state.epoch,
            position: state.position.take(),
            last_loss: f64::NAN,
            started,
        })
    }
}

/// What a checkpoint can restore.
struct State {
    model: Yolo9,
    ema: Option<Ema>,
    sgd: Sgd,
    size: Size,
    letterbox_pad: String,
    best: Best,
    epoch: u32,
    position: Option<Position>,
    /// The last finished epoch's line of the history.
    row: Option<String>,
}

impl State {
    fn build(
        config: &TrainConfig,
        source: Source,
        classes: usize,
        device: Device,
    ) -> Result<State, TrainError> {
        let nc = i64::try_from(classes)
            .map_err(|e| TrainError::new(Code::DataInvalid, "ValueError", e.to_string()))?;
        let aux = config.aux_weight > 0.0;
        match source {
            Source::Scratch(size) => {
                let class_width = (size == Size::T).then_some(SCRATCH_CLASS_WIDTH_T);
                let model = Yolo9::new(
                    &Yolo9Config {
                        size,
                        nc,
                        class_width,
                        aux,
                    },
                    device,
                );
                Ok(State::fresh(config, model, "topleft".to_owned()))
            }
            Source::Weights {
                state,
                letterbox_pad,
            } => {
                let shape = architecture(&state)?;
                let model = Yolo9::new(&Yolo9Config { nc, aux, ..shape }, device);
                let report = load(&model, &state)?;
                tracing::info!(
                    "Weights loaded: {} tensors, {} start anew",
                    report.loaded,
                    report.missing.len() + report.other_classes.len()
                );
                Ok(State::fresh(config, model, letterbox_pad))
            }
            Source::Resume { checkpoint, path } => {
                let shape = architecture(&checkpoint.model)?;
                let model = Yolo9::new(&Yolo9Config { nc, aux, ..shape }, device);
                let mut state =
                    State::fresh(config, model, checkpoint.metadata.letterbox_pad.clone());
                let Some(training) = checkpoint.training else {
                    return Ok(state);
                };
                load_all(&state.model, &training.train_model, "the weights")?;
                if let Some(ema) = &mut state.ema {
                    load_all(ema.model(), &checkpoint.model, "the averaged weights")?;
                    ema.set_updates(
                        training
                            .ema_updates
                            .and_then(|n| u64::try_from(n).ok())
                            .unwrap_or(0),
                    );
                }
                if let Some(optimizer) = &training.optimizer {
                    state.sgd.load_state(optimizer).map_err(|e| {
                        TrainError::new(Code::ModelLoadFailed, "ValueError", e.to_string())
                    })?;
                }
                state.best = training.best;
                state.epoch = training.finished_epochs;
                state.position = training.position;
                state.row = training.row;
                tracing::info!(
                    "Resuming from {}: {} epochs done",
                    path.display(),
                    state.epoch
                );
                Ok(state)
            }
        }
    }

    fn fresh(config: &TrainConfig, mut model: Yolo9, letterbox_pad: String) -> State {
        if model.device() == Device::Cpu {
            model.to_channels_last();
        }
        let ema = config.ema.then(|| {
            Ema::new(
                &model,
                EmaConfig {
                    decay: config.ema_decay,
                    ..EmaConfig::default()
                },
            )
        });
        let sgd = Sgd::new(
            model.parameters(),
            SgdConfig {
                learning_rate: config.lr0,
                momentum: config.momentum,
                weight_decay: config.weight_decay,
                nesterov: config.nesterov,
            },
        );
        let size = model.config().size;
        State {
            model,
            ema,
            sgd,
            size,
            letterbox_pad,
            best: Best::default(),
            epoch: 0,
            position: None,
            row: None,
        }
    }
}

pub(super) fn architecture(state: &[(String, tch::Tensor)]) -> Result<Yolo9Config, TrainError> {
    Yolo9Config::of_state_dict(state)
        .map_err(|e| TrainError::new(Code::ModelLoadFailed, "RuntimeError", e.to_string()))
}

/// As a checkpoint names it.
pub(super) fn padding(letterbox_pad: &str) -> Padding {
    match letterbox_pad {
        "center" => Padding::Center,
        _ => Padding::TopLeft,
    }
}

fn train_loader(config: &TrainConfig, padding: Padding, device: Device) -> LoaderConfig {
    let epochs = config.epochs as usize;
    LoaderConfig {
        threads: loader_threads(config.workers, device),
        seed: config.seed,
        padding,
        cache_bytes: CACHE_BYTES,
        augment: Some(AugmentConfig {
            mosaic: config.mosaic,
            mosaic_until: AugmentConfig::mosaic_epochs(epochs, config.no_aug_epochs as usize),
            translate: config.translate,
            scale: config.mosaic_scale,
            hsv: config.hsv_prob,
            flip_horizontal: config.flip_prob,
            ..AugmentConfig::default()
        }),
        ..LoaderConfig::train(config.imgsz, config.batch as usize)
    }
}

/// No more threads than CPUs: they would only take turns. Where the CPUs train too, half of them at most.
pub(super) fn loader_threads(workers: u32, device: Device) -> usize {
    let cpus = match device {
        Device::Cpu => super::device::usable_cpus().div_ceil(2),
        _ => super::device::usable_cpus(),
    };
    (workers as usize).clamp(1, cpus)
}

fn schedule(config: &TrainConfig, steps_per_epoch: u64) -> ScheduleConfig {
    ScheduleConfig {
        decay: match config.scheduler {
            Scheduler::Linear => Decay::Linear,
            Scheduler::Cosine => Decay::Cosine,
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
