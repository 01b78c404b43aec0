//! Everything that can be refused, before anything is written.

use std::path::{Path, PathBuf};

use gpurun_dataset::{ClassSelection, DataConfig, Split, SplitData};
use tch::Device;

use super::device::{choose_device, device_of, limit_threads};
use super::error::TrainError;
use super::restore;
use super::source::Source;
use crate::config::{Assignment, Code, TrainConfig};
use crate::dist::{Group, Member};
use crate::model::{Architecture, Family};
use crate::run_dir::RunDir;

/// A run that can start.
pub struct Setup {
    pub(super) config: TrainConfig,
    pub(super) data: DataConfig,
    pub(super) train: SplitData,
    /// None trains without validation.
    pub(super) val: Option<SplitData>,
    pub(super) source: Source,
    pub(super) device: Device,
    /// The directory a resumed run goes on in; none makes a new one.
    pub(super) continued: Option<PathBuf>,
    /// The processes that train together; none where this one trains alone.
    pub(super) group: Option<&'static Group>,
}

impl Setup {
    /// Reads the data's description and the weights, and picks the device. `explicit` is what the user
    /// typed, which a resumed run takes before the checkpoint's settings.
    ///
    /// # Errors
    /// For settings, data, weights or a device that can't be used, each with its exit code.
    pub fn prepare(
        config: TrainConfig,
        explicit: &[Assignment],
        member: Option<Member>,
    ) -> Result<Setup, TrainError> {
        let device = match &member {
            Some(member) => device_of(member, &config.device)?,
            None => choose_device(&config.device)?,
        };
        let local = member.as_ref().map_or(1, |member| member.local_world);
        limit_threads(local);
        let source = Source::read(&config)?;
        let config = of_family(config, source.family()?, explicit)?;
        let (config, continued) = match &source {
            Source::Resume { checkpoint, path } => (
                restore::settings(config, checkpoint, path, explicit)?,
                RunDir::of_checkpoint(path),
            ),
            _ => (config, None),
        };
        // One that is yet to be found out will be shared equally.
        let shared = member.as_ref().filter(|_| !config.auto_batch);
        if let Some(member) = shared {
            check_batch(config.batch, member.world)?;
        }
        let data = load_data(&config.data, &config.selection)?;
        let train = read_split(&data, Split::Train)?;
        let val = config
            .val
            .then(|| read_split(&data, Split::Val))
            .transpose()?;
        if let Some(member) = shared {
            check_images(train.samples.len(), config.batch, member.world)?;
        }
        let group = match member {
            // It serves the backward pass too, to the end of the process.
            Some(member) => Some(&*Box::leak(Box::new(Group::join(member, device)?))),
            None => None,
        };
        Ok(Setup {
            group,
            config,
            data,
            train,
            val,
            source,
            device,
            continued,
        })
    }
}

/// The settings for a network of this family: what a weights file holds is known only now.
fn of_family(
    config: TrainConfig,
    family: Family,
    explicit: &[Assignment],
) -> Result<TrainConfig, TrainError> {
    let model = explicit.iter().rfind(|typed| typed.key == "model");
    let asked = model.and_then(|typed| Architecture::of_model(&typed.value));
    if let Some(asked) = asked.filter(|asked| asked.family() != family) {
        let message = format!(
            "model={asked} is of family {}, and the weights are of {family}",
            asked.family()
        );
        return Err(
            TrainError::new(Code::ModelLoadFailed, "ValueError", message)
                .suggest("Weights of one family can't start or go on in the other"),
        );
    }
    let config = if config.family == family {
        config
    } else {
        TrainConfig::of_family(family, explicit)?
    };
    config.check_family(explicit)?;
    Ok(config)
}

/// Whether each of `world` processes gets as many images of a batch.
///
/// # Errors
/// With the nearest batches that can be shared.
pub fn check_batch(batch: u32, world: u32) -> Result<(), TrainError> {
    if batch.is_multiple_of(world) {
        return Ok(());
    }
    let (below, above) = (batch / world * world, batch.next_multiple_of(world));
    let message = format!("batch={batch} can't be shared equally by {world} devices");
    let nearest = match below {
        0 => format!("The nearest batch that can is {above}"),
        _ => format!("The nearest batches that can are {below} and {above}"),
    };
    Err(TrainError::new(Code::Conflict, "ValueError", message).suggest(nearest))
}

/// Whether there is one whole batch: a smaller last one couldn't be shared equally.
///
/// # Errors
/// When there is none.
pub(super) fn check_images(images: usize, batch: u32, world: u32) -> Result<(), TrainError> {
    if images >= batch as usize {
        return Ok(());
    }
    let message =
        format!("{images} training images are not one batch of {batch} for {world} devices");
    Err(TrainError::new(Code::Conflict, "ValueError", message)
        .suggest("Take a smaller batch, or one device"))
}

/// The description of a dataset, with the classes that count.
pub(super) fn load_data(path: &Path, selection: &ClassSelection) -> Result<DataConfig, TrainError> {
    if !path.exists() {
        let message = format!("no such dataset: {}", path.display());
        return Err(
            TrainError::new(Code::DataNotFound, "FileNotFoundError", message)
                .suggest("data= takes the path of a data.yaml"),
        );
    }
    if !selection.classes.is_empty() {
        tracing::warn!(
            "only the boxes of classes {:?} count; all others are left out",
            selection.classes
        );
    }
    Ok(DataConfig::load(path)?.select(selection.clone())?)
}

/// The images of a split, at least one, with their boxes.
pub(super) fn read_split(data: &DataConfig, split: Split) -> Result<SplitData, TrainError> {
    let found = data.read(split)?;
    if found.samples.is_empty() {
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
    Ok(found)
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
        Setup::prepare(config, &[], None)
    }

    #[test]
    fn batches_that_cannot_be_shared_name_the_nearest() {
        assert!(check_batch(16, 4).is_ok());
        let error = check_batch(18, 4).unwrap_err();
        assert_eq!(error.exit_code(), 2);
        assert!(error.suggestion.unwrap().ends_with("are 16 and 20"));
        let error = check_batch(2, 4).unwrap_err();
        assert!(error.suggestion.unwrap().ends_with("is 4"));
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
