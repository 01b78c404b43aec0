//! Where a run's weights come from.

use std::path::{Path, PathBuf};

use super::error::TrainError;
use crate::checkpoint::{Checkpoint, StateDict, read_safetensors};
use crate::config::{Code, Resume, TrainConfig};
use crate::model::{Architecture, Family};

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
            Resume::No => architecture(&config.model)
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
        return Err(match architecture(&path.to_string_lossy()) {
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

fn is_weights_file(model: &str) -> bool {
    let extension = Path::new(model).extension();
    extension.is_some_and(|extension| extension == "pt" || extension == "safetensors")
}

/// A family that this trainer knows.
fn check_family(checkpoint: &Checkpoint, path: &Path) -> Result<(), TrainError> {
    let family = &checkpoint.metadata.model_family;
    if Family::of_name(family).is_some() {
        return Ok(());
    }
    let known = Family::ALL.map(Family::name).join(", ");
    let message = format!("{} is of family {family}, not {known}", path.display());
    Err(TrainError::new(
        Code::ModelLoadFailed,
        "ValueError",
        message,
    ))
}

/// The network in `yolo9-t`, `LibreYOLO9t.pt` and the like.
fn architecture(model: &str) -> Option<Architecture> {
    let name = if is_weights_file(model) {
        Path::new(model).file_stem()?.to_str()?
    } else {
        model
    };
    name.parse().ok()
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

    #[test]
    fn files_are_named_after_what_they_hold() {
        for name in [
            "yolo9-t",
            "LibreYOLO9t.pt",
            "weights/LibreYOLO9t.safetensors",
        ] {
            assert_eq!(architecture(name), Some(TINY), "{name}");
        }
        assert_eq!(architecture("best.pt"), None);
    }

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
            ("yolox-s", Resume::No),
            ("yolo9-t", Resume::From("none/last.pt".into())),
            ("none/last.pt", Resume::Last),
        ] {
            let error = read(model, true, resume).err().unwrap();
            assert_eq!(error.exit_code(), 4, "{model}: {error}");
        }
    }
}
