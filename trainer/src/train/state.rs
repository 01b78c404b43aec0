//! What a run starts from: fresh, with weights, or where a checkpoint stands.

use tch::{Cuda, Device};

use super::error::TrainError;
use super::precision::Scaler;
use super::restore::{load, load_all};
use super::source::{Source, architecture};
use crate::checkpoint::{Best, Position};
use crate::config::{Code, Freeze, TrainConfig};
use crate::model::{Network, NetworkConfig};
use crate::optim::{Ema, EmaConfig, Optimizer, OptimizerConfig};

/// What a checkpoint can restore.
pub(super) struct State {
    pub(super) model: Network,
    pub(super) ema: Option<Ema>,
    pub(super) optimizer: Optimizer,
    /// Of mixed precision, where the checkpoint has one.
    pub(super) scaler: Option<Scaler>,
    pub(super) letterbox_pad: String,
    pub(super) best: Best,
    pub(super) epoch: u32,
    pub(super) position: Option<Position>,
    /// The last finished epoch's line of the history.
    pub(super) row: Option<String>,
}

impl State {
    /// Builds the network and loads what there is. From here on random numbers are the run's.
    ///
    /// # Errors
    /// When the weights don't fit, or the device has no memory.
    pub(super) fn build(
        config: &TrainConfig,
        source: Source,
        classes: usize,
        device: Device,
    ) -> Result<State, TrainError> {
        seed(config, device);
        let nc = i64::try_from(classes)
            .map_err(|e| TrainError::new(Code::DataInvalid, "ValueError", e.to_string()))?;
        let aux = config.aux_weight > 0.0;
        match source {
            Source::Scratch(architecture) => {
                let shape = NetworkConfig::scratch(architecture, nc, aux);
                let model = Network::new(shape, device);
                State::fresh(config, model, "topleft".to_owned())
            }
            Source::Weights {
                state,
                letterbox_pad,
            } => {
                let shape = architecture(&state)?;
                let model = Network::new(shape.adapted(nc, aux), device);
                let report = load(&model, &state)?;
                tracing::info!(
                    "Weights loaded: {} tensors, {} start anew",
                    report.loaded,
                    report.missing.len() + report.other_classes.len()
                );
                State::fresh(config, model, letterbox_pad)
            }
            Source::Resume { checkpoint, path } => {
                let shape = architecture(&checkpoint.model)?;
                let model = Network::new(shape.adapted(nc, aux), device);
                let mut state =
                    State::fresh(config, model, checkpoint.metadata.letterbox_pad.clone())?;
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
                if let Some(saved) = &training.optimizer {
                    state.optimizer.load_state(saved).map_err(|e| {
                        TrainError::new(Code::ModelLoadFailed, "ValueError", e.to_string())
                    })?;
                }
                state.scaler = training.scaler;
                state.best = training.best;
                state.epoch = training.finished_epochs;
                check_position(training.position.as_ref(), &state.model)?;
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

    fn fresh(
        config: &TrainConfig,
        mut model: Network,
        letterbox_pad: String,
    ) -> Result<State, TrainError> {
        if model.device() == Device::Cpu {
            model.to_channels_last();
        }
        freeze(&model, &config.freeze)?;
        let ema = config.ema.then(|| {
            Ema::new(
                &model,
                EmaConfig {
                    decay: config.ema_decay,
                    ..EmaConfig::default()
                },
            )
        });
        let optimizer = Optimizer::new(
            model.parameters(),
            OptimizerConfig {
                method: config.optimizer,
                learning_rate: config.lr0,
                momentum: config.momentum,
                weight_decay: config.weight_decay,
                nesterov: config.nesterov,
            },
        );
        Ok(State {
            model,
            ema,
            optimizer,
            scaler: None,
            letterbox_pad,
            best: Best::default(),
            epoch: 0,
            position: None,
            row: None,
        })
    }
}

/// Makes everything that draws random numbers draw the run's.
fn seed(config: &TrainConfig, device: Device) {
    tch::manual_seed(i64::try_from(config.seed).unwrap_or(0));
    if let Device::Cuda(_) = device {
        Cuda::manual_seed_all(config.seed);
        Cuda::cudnn_set_benchmark(true);
    }
}

/// The sums within an epoch are those of the family's loss.
fn check_position(position: Option<&Position>, model: &Network) -> Result<(), TrainError> {
    let figures = 1 + model.family().loss_parts().len();
    match position.map(|position| position.loss_sums.len()) {
        Some(found) if found != figures => {
            let message = format!(
                "`loss_sums` of the checkpoint are {found} numbers, and the loss of {} has {figures}",
                model.family()
            );
            Err(TrainError::new(
                Code::ModelLoadFailed,
                "ValueError",
                message,
            ))
        }
        _ => Ok(()),
    }
}

/// Takes the selected layers out of training.
fn freeze(model: &Network, selected: &Freeze) -> Result<(), TrainError> {
    let refused = |message: String| Err(TrainError::new(Code::WrongType, "ValueError", message));
    let selectors = selected.prefixes(model.family());
    let selectors = match selectors {
        Ok(selectors) => selectors,
        Err(reason) => return refused(format!("freeze {reason}")),
    };
    for (selector, prefixes) in selectors {
        let prefixes: Vec<&str> = prefixes.iter().map(String::as_str).collect();
        let is_group = selector.parse::<usize>().is_ok();
        // Without the auxiliary branch its groups are empty.
        if model.freeze(&prefixes) == 0 && !is_group {
            return refused(format!("freeze={selector} matches no parameter"));
        }
    }
    if model.parameters().is_empty() {
        return refused("freeze leaves nothing to train".to_owned());
    }
    if !selected.is_empty() {
        tracing::info!(
            "Frozen; {} tensors are left to train",
            model.parameters().len()
        );
    }
    Ok(())
}
