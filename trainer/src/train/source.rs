//! Where a run's weights come from.

use std::path::{Path, PathBuf};

use super::error::TrainError;
use crate::checkpoint::{Checkpoint, StateDict, read_safetensors};
use crate::config::{Code, Resume, TrainConfig};
use crate::model::Size;

/// What a network starts from.
pub(super) enum Source {
    Scratch(Size),
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
            Some(size) => error.suggest(format!(
                "model=yolo9-{size}, or pretrained=false, trains from scratch"
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
    if checkpoint.metadata.model_family != "yolo9" {
        let message = format!(
            "{} is of family {}, not yolo9",
            path.display(),
            checkpoint.metadata.model_family
        );
        return Err(TrainError::new(
            Code::ModelLoadFailed,
            "ValueError",
            message,
        ));
    }
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
    Ok(Source::Resume {
        checkpoint: Box::new(checkpoint),
        path,
    })
}

fn is_weights_file(model: &str) -> bool {
    let extension = Path::new(model).extension();
    extension.is_some_and(|extension| extension == "pt" || extension == "safetensors")
}

/// The size in `yolo9-t`, `LibreYOLO9t.pt` and the like.
fn architecture(model: &str) -> Option<Size> {
    let stem = if is_weights_file(model) {
        Path::new(model).file_stem()?.to_str()?
    } else {
        model
    };
    let name = stem.to_ascii_lowercase();
    let name = name.strip_prefix("libre").unwrap_or(&name);
    let size = name.strip_prefix("yolo9")?;
    size.trim_start_matches(['-', '_']).parse().ok()
}

fn unknown(model: &str) -> TrainError {
    TrainError::new(
        Code::ModelNotFound,
        "ValueError",
        format!("unknown model `{model}`"),
    )
    .suggest(
        "There are yolo9-t, yolo9-s, yolo9-m and yolo9-c, and files ending in .pt or .safetensors",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn architectures_have_many_spellings() {
        for name in [
            "yolo9-t",
            "yolo9t",
            "LibreYOLO9t.pt",
            "weights/LibreYOLO9t.safetensors",
        ] {
            assert_eq!(architecture(name), Some(Size::T), "{name}");
        }
        assert_eq!(architecture("yolo9-c"), Some(Size::C));
        for name in ["yolox-s", "yolo9", "yolo9-x", ""] {
            assert_eq!(architecture(name), None, "{name}");
        }
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
            Ok(Source::Scratch(Size::T))
        ));
        assert!(matches!(
            read("LibreYOLO9s.pt", false, Resume::No),
            Ok(Source::Scratch(Size::S))
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
