//! Where a run's weights come from.

use std::path::{Path, PathBuf};

use super::error::TrainError;
use crate::checkpoint::{Checkpoint, StateDict, read_safetensors};
use crate::config::{Code, Resume, TrainConfig};
use crate::model::{Architecture, Family, NetworkConfig, is_weights_file};

/// What a network starts from.
pub(super) enum Source {
    Scratch(Architecture),
    Weights {
        state: StateDict,
        letterbox_pad: String,
    },
    Resume {
        checkpoint: Box<Checkpoint>,
        path: PathBuf,
    },
}

impl Source {
    /// Family of the network.
    ///
    /// # Errors
    /// When tensors are of none.
    pub(super) fn family(&self) -> Result<Family, TrainError> {
        Ok(match self {
            Source::Scratch(architecture) => architecture.family(),
            Source::Weights { state, .. } => architecture(state)?.family(),
            Source::Resume { checkpoint, .. } => architecture(&checkpoint.model)?.family(),
        })
    }

    /// Reads what `model`, `pretrained` and `resume` name.
    ///
    /// # Errors
    /// When there is no such model or file, or the file can't be used.
    pub(super) fn read(config: &TrainConfig) -> Result<Source, TrainError> {
        let is_file = is_weights_file(&config.model);
        match &config.resume {
            Resume::From(path) => resume(path.clone()),
            Resume::Last if is_file => resume(PathBuf::from(&config.model)),
            Resume::Last => resume(config.project.join(&config.name).join("weights/last.pt")),
            Resume::No if is_file && config.pretrained => weights(Path::new(&config.model)),
            Resume::No => Architecture::of_model(&config.model)
                .map(Source::Scratch)
                .ok_or_else(|| unknown(&config.model)),
        }
    }
}

/// Reads weights of either format, with where their letterboxing puts the image.
///
/// # Errors
/// When the file is missing or no weights file.
pub(super) fn weights(path: &Path) -> Result<Source, TrainError> {
    if !path.exists() {
        let error = TrainError::new(
            Code::ModelNotFound,
            "FileNotFoundError",
            format!("no such weights: {}", path.display()),
        );
        return Err(match Architecture::of_model(&path.to_string_lossy()) {
            Some(architecture) => error.suggest(format!(
                "model={architecture}, or pretrained=false, trains from scratch"
            )),
            None => error,
        });
    }
    if path
        .extension()
        .is_some_and(|extension| extension == "safetensors")
    {
        return Ok(Source::Weights {
            state: read_safetensors(path)?,
            letterbox_pad: "topleft".to_owned(),
        });
    }
    let checkpoint = Checkpoint::read(path)?;
    check_family(&checkpoint, path)?;
    Ok(Source::Weights {
        state: checkpoint.model,
        letterbox_pad: checkpoint.metadata.letterbox_pad,
    })
}

fn resume(path: PathBuf) -> Result<Source, TrainError> {
    let checkpoint = Checkpoint::read(&path).map_err(|e| {
        TrainError::from(e).suggest(
            "resume=true needs the last.pt of an earlier run; without resume a new run starts",
        )
    })?;
    if checkpoint.training.is_none() {
        let message = format!(
            "cannot resume from {}: it holds no training state",
            path.display()
        );
        return Err(TrainError::new(Code::WrongType, "ValueError", message)
            .suggest("Start a new run from these weights: leave resume out"));
    }
    check_family(&checkpoint, &path)?;
    Ok(Source::Resume {
        checkpoint: Box::new(checkpoint),
        path,
    })
}

/// The tensors must be of the family that the checkpoint names, and that of this trainer's.
fn check_family(checkpoint: &Checkpoint, path: &Path) -> Result<(), TrainError> {
    let family = &checkpoint.metadata.model_family;
    let refused = |message| TrainError::new(Code::ModelLoadFailed, "ValueError", message);
    let Some(named) = Family::of_name(family) else {
        let known = Family::ALL.map(Family::name).join(" or ");
        let message = format!("{} is of family {family}, not {known}", path.display());
        return Err(refused(message));
    };
    let found = architecture(&checkpoint.model)?.family();
    if found == named {
        return Ok(());
    }
    let message = format!(
        "{} says that it is of family {named}, and its tensors are of {found}",
        path.display()
    );
    Err(refused(message))
}

/// The network that tensors are of.
///
/// # Errors
/// When they are of none.
pub(super) fn architecture(state: &StateDict) -> Result<NetworkConfig, TrainError> {
    NetworkConfig::of_state_dict(state)
        .map_err(|e| TrainError::new(Code::ModelLoadFailed, "RuntimeError", e.to_string()))
}

fn unknown(model: &str) -> TrainError {
    TrainError::new(
        Code::ModelNotFound,
        "ValueError",
        format!("unknown model `{model}`"),
    )
    .suggest(format!(
        "There are {}, and files ending in .pt or .safetensors",
        Architecture::all()
            .map(|it| it.to_string())
            .collect::<Vec<_>>()
            .join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Yolo9Size;

    const TINY: Architecture = Architecture::Yolo9(Yolo9Size::T);

    fn read(model: &str, pretrained: bool, resume: Resume) -> Result<Source, TrainError> {
        Source::read(&TrainConfig {
            model: model.to_owned(),
            pretrained,
            resume,
            ..TrainConfig::default()
        })
    }

    #[test]
    fn scratch_needs_no_file() {
        assert!(matches!(
            read("yolo9-t", true, Resume::No),
            Ok(Source::Scratch(TINY))
        ));
        assert!(matches!(
            read("LibreYOLO9s.pt", false, Resume::No),
            Ok(Source::Scratch(Architecture::Yolo9(Yolo9Size::S)))
        ));
    }

    #[test]
    fn missing_models_end_with_four() {
        for (model, resume) in [
            ("LibreYOLO9t.pt", Resume::No),
            ("yolov5-s", Resume::No),
            ("yolo9-t", Resume::From("none/last.pt".into())),
            ("none/last.pt", Resume::Last),
        ] {
            let error = read(model, true, resume).err().unwrap();
            assert_eq!(error.exit_code(), 4, "{model}: {error}");
        }
    }
}
