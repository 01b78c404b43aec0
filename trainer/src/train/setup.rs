//! Everything that can be refused, before anything is written.

use std::path::{Path, PathBuf};

use gpurun_dataset::{DataConfig, Sample, Split};
use tch::Device;

use super::device::{choose_device, limit_threads};
use super::error::TrainError;
use super::restore;
use super::source::Source;
use crate::config::{Assignment, Code, TrainConfig};
use crate::run_dir::RunDir;

/// A run that can start.
pub struct Setup {
    pub(super) config: TrainConfig,
    pub(super) data: DataConfig,
    pub(super) train_samples: Vec<Sample>,
    pub(super) val_samples: Vec<Sample>,
    pub(super) source: Source,
    pub(super) device: Device,
    /// The directory a resumed run goes on in; none makes a new one.
    pub(super) continued: Option<PathBuf>,
}

impl Setup {
    /// Reads the data's description and the weights, and picks the device. `explicit` is what the user
    /// typed, which a resumed run takes before the checkpoint's settings.
    ///
    /// # Errors
    /// For settings, data, weights or a device that can't be used, each with its exit code.
    pub fn prepare(config: TrainConfig, explicit: &[Assignment]) -> Result<Setup, TrainError> {
        let device = choose_device(&config.device)?;
        limit_threads();
        let source = Source::read(&config)?;
        let (config, continued) = match &source {
            Source::Resume { checkpoint, path } => (
                restore::settings(config, checkpoint, path, explicit)?,
                RunDir::of_checkpoint(path),
            ),
            _ => (config, None),
        };
        let data = load_data(&config.data)?;
        let train_samples = samples(&data, Split::Train)?;
        let val_samples = if config.val {
            samples(&data, Split::Val)?
        } else {
            vec![]
        };
        Ok(Setup {
            config,
            data,
            train_samples,
            val_samples,
            source,
            device,
            continued,
        })
    }
}

pub(super) fn load_data(path: &Path) -> Result<DataConfig, TrainError> {
    if !path.exists() {
        let message = format!("no such dataset: {}", path.display());
        return Err(
            TrainError::new(Code::DataNotFound, "FileNotFoundError", message)
                .suggest("data= takes the path of a data.yaml"),
        );
    }
    Ok(DataConfig::load(path)?)
}

/// The images of a split, at least one.
pub(super) fn samples(data: &DataConfig, split: Split) -> Result<Vec<Sample>, TrainError> {
    let samples = data.samples(split)?;
    if samples.is_empty() {
        let message = format!(
            "{}: `{}` names no images",
            data.file.display(),
            split.as_str()
        );
        let error = TrainError::new(Code::DataInvalid, "ValueError", message);
        return Err(match split {
            Split::Val => error.suggest("Name some, or train with val=false"),
            _ => error,
        });
    }
    Ok(samples)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prepare(data: &std::path::Path) -> Result<Setup, TrainError> {
        let config = TrainConfig {
            data: data.to_owned(),
            device: "cpu".to_owned(),
            ..TrainConfig::default()
        };
        Setup::prepare(config, &[])
    }

    #[test]
    fn missing_data_ends_with_three() {
        let error = prepare(std::path::Path::new("none/data.yaml"))
            .err()
            .unwrap();
        assert_eq!((error.code, error.exit_code()), (Code::DataNotFound, 3));
    }

    #[test]
    fn an_empty_split_ends_with_three() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("images/train")).unwrap();
        let yaml = dir.path().join("data.yaml");
        std::fs::write(
            &yaml,
            "train: images/train\nval: images/train\nnames: [a]\n",
        )
        .unwrap();
        let error = prepare(&yaml).err().unwrap();
        assert_eq!((error.code, error.exit_code()), (Code::DataInvalid, 3));
        assert!(error.message.contains("`train`"), "{error}");
    }
}
