//! Going on where an earlier process stopped.

use std::path::Path;

use super::error::TrainError;
use crate::checkpoint::{Checkpoint, StateDict};
use crate::config::{Assignment, Code, Resume, TrainConfig};
use crate::model::{LoadReport, Network};

/// The checkpoint's settings, changed by what the user typed.
///
/// # Errors
/// When the checkpoint's settings can't be read, or no epoch is left.
pub(super) fn settings(
    typed: TrainConfig,
    checkpoint: &Checkpoint,
    path: &Path,
    explicit: &[Assignment],
) -> Result<TrainConfig, TrainError> {
    let mut config = typed;
    let Some(training) = &checkpoint.training else {
        return Ok(config);
    };
    config.restore(
        training
            .config
            .iter()
            .map(|(key, value)| (key.as_str(), value.to_string())),
    )?;
    for assignment in explicit {
        config.assign(assignment)?;
    }
    config.check_family(explicit)?;
    config.resume = Resume::From(path.to_owned());
    if training.finished_epochs >= config.epochs {
        let message = format!(
            "cannot resume from {}: its run already trained {}/{} epochs",
            path.display(),
            training.finished_epochs,
            config.epochs
        );
        return Err(
            TrainError::new(Code::WrongType, "ValueError", message).suggest(
                "Give a larger epochs=, or start a new run from these weights: leave resume out",
            ),
        );
    }
    Ok(config)
}

/// Loads weights that must fit whole.
///
/// # Errors
/// When a tensor is missing, or of another shape.
pub(super) fn load_all(model: &Network, state: &StateDict, what: &str) -> Result<(), TrainError> {
    let report = load(model, state)?;
    if report.is_complete() {
        return Ok(());
    }
    let names = report
        .missing
        .iter()
        .chain(report.other_classes.iter().map(|mismatch| &mismatch.name));
    let first = names.clone().next().cloned().unwrap_or_default();
    let message = format!(
        "{what} of the checkpoint lack {} tensors of this network, such as {first}",
        names.count()
    );
    Err(
        TrainError::new(Code::ModelLoadFailed, "RuntimeError", message)
            .suggest("Resume with the dataset and the aux_weight the run was started with"),
    )
}

/// Loads what fits.
///
/// # Errors
/// When nothing fits, or a shape that does not depend on the classes is another.
pub(super) fn load(model: &Network, state: &StateDict) -> Result<LoadReport, TrainError> {
    model
        .load_state_dict(state)
        .map_err(|e| TrainError::new(Code::ModelLoadFailed, "RuntimeError", e.to_string()))
}
