//! One training run's settings.

use std::path::PathBuf;

use gpurun_dataset::ClassSelection;

use super::defaults;
use super::error::{Code, ConfigError};
use super::fixed;
use super::freeze::Freeze;
use super::key_info::unknown;
use super::keys::KEYS;
use super::settings::Assignment;
use crate::model::{Architecture, Family};
use crate::optim::Method;

/// Everything that decides a run. Defaults are LibreYOLO's for the family, YOLO9's where none is said.
#[derive(Debug, Clone, PartialEq)]
pub struct TrainConfig {
    /// Of the network, which decides the defaults.
    pub family: Family,
    pub data: PathBuf,
    /// `yolo9-t`, a weights file, or with `pretrained = false` the name of one.
    pub model: String,
    pub pretrained: bool,
    pub epochs: u32,
    /// Images a step, of all devices together.
    pub batch: u32,
    /// `batch = -1`: the largest power of two that fits the GPU takes the place of `batch`.
    pub auto_batch: bool,
    /// Side of the square canvas in pixels, a multiple of 32.
    pub imgsz: u32,
    /// `auto`, `cpu`, `cuda:N` or `N`.
    pub device: String,
    pub workers: u32,
    /// Decoded images stay in memory, all that half of what is free holds; without it, a gigabyte of them.
    pub cache: bool,
    /// The classes that are learnt: all, some, or those as one.
    pub selection: ClassSelection,
    pub seed: u64,
    pub resume: Resume,

    /// Images an optimizer step: the gradients of as many batches as come nearest to it are averaged. None: one batch.
    pub nbs: Option<u32>,
    pub optimizer: Method,
    pub lr0: f64,
    pub momentum: f64,
    pub weight_decay: f64,
    pub nesterov: bool,
    pub scheduler: Scheduler,
    pub warmup_epochs: u32,
    pub warmup_lr_start: f64,
    pub warmup_momentum: f64,
    pub min_lr_ratio: f64,
    pub ema: bool,
    pub ema_decay: f64,
    /// Mixed precision, on a GPU.
    pub amp: bool,
    pub amp_dtype: AmpType,
    /// What stays as it is; see [`Freeze`].
    pub freeze: Freeze,
    /// Weight of the auxiliary head's loss; 0 trains without that head. Of YOLO9 alone.
    pub aux_weight: f64,

    pub mosaic: f64,
    /// Probability that a mosaic is blended with another image. Of YOLOX alone.
    pub mixup: f64,
    pub mixup_scale: (f64, f64),
    pub degrees: f64,
    pub shear: f64,
    pub hsv_prob: f64,
    pub flip_prob: f64,
    pub translate: f64,
    pub mosaic_scale: (f64, f64),
    /// Last epochs without mosaic.
    pub no_aug_epochs: u32,

    pub val: bool,
    pub eval_interval: u32,
    pub max_det: u32,
    /// Epochs without a better metric before the run ends; 0 never ends it.
    pub patience: u32,

    pub project: PathBuf,
    pub name: String,
    pub exist_ok: bool,
    /// Every this many epochs `epoch_N.pt` is kept; 0 keeps none.
    pub save_period: u32,
}

/// Whether and from where a run goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resume {
    No,
    /// From `model`, or from `<project>/<name>/weights/last.pt` when `model` is no checkpoint.
    Last,
    From(PathBuf),
}

/// How the learning rate falls after the warm-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheduler {
    Linear,
    Cosine,
    /// A quadratic warm-up, half a cosine wave, and constant in the epochs without mosaics: YOLOX's.
    YoloxCosine,
}

/// The type that convolutions compute in under mixed precision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AmpType {
    /// With a scale on the loss that keeps small gradients.
    Float16,
    BFloat16,
}

impl AmpType {
    /// As typed on the command line.
    pub fn name(self) -> &'static str {
        match self {
            AmpType::Float16 => "float16",
            AmpType::BFloat16 => "bfloat16",
        }
    }
}

impl Scheduler {
    /// As typed on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Scheduler::Linear => "linear",
            Scheduler::Cosine => "cos",
            Scheduler::YoloxCosine => "yoloxwarmcos",
        }
    }
}

impl Default for TrainConfig {
    fn default() -> Self {
        defaults::yolo9()
    }
}

impl TrainConfig {
    /// Defaults changed by what the user typed; a key typed twice takes the last value. The defaults are those of the
    /// family that `model` names.
    ///
    /// # Errors
    /// For an unknown key, a value of the wrong type or out of range, a feature of LibreYOLO this
    /// trainer lacks, a setting of the other family, and a missing `data`.
    pub fn from_assignments(assignments: &[Assignment]) -> Result<Self, ConfigError> {
        let family = model_of(assignments)
            .and_then(Architecture::of_model)
            .map_or(Family::Yolo9, Architecture::family);
        let config = TrainConfig::of_family(family, assignments)?;
        if config.data.as_os_str().is_empty() {
            return Err(ConfigError::new(Code::RequiredKey, "`data` is required")
                .suggest("Give the dataset's YAML: data=path/to/data.yaml"));
        }
        Ok(config)
    }

    /// Batches whose gradients are averaged before the optimizer takes a step, as LibreYOLO rounds it: half to even.
    pub fn batches_per_step(&self) -> usize {
        self.nbs.map_or(1, |nbs| {
            let batches = f64::from(nbs) / f64::from(self.batch.max(1));
            (batches.round_ties_even() as usize).max(1)
        })
    }

    /// A family's defaults changed by what the user typed.
    ///
    /// # Errors
    /// As [`TrainConfig::from_assignments`], but `data` may be missing.
    pub fn of_family(family: Family, assignments: &[Assignment]) -> Result<Self, ConfigError> {
        let mut config = match family {
            Family::Yolo9 => defaults::yolo9(),
            Family::Yolox => defaults::yolox(),
        };
        for assignment in assignments {
            config.assign(assignment)?;
        }
        // Of a weights file the family is known once it has been read.
        if model_of(assignments).is_none_or(|model| Architecture::of_model(model).is_some()) {
            config.check_family(assignments)?;
        }
        Ok(config)
    }

    /// Whether the settings are the family's.
    ///
    /// # Errors
    /// With the setting that the family lacks.
    pub fn check_family(&self, assignments: &[Assignment]) -> Result<(), ConfigError> {
        let refused = |reason: String| Err(ConfigError::new(Code::Unsupported, reason));
        let (family, scheduler) = (self.family.title(), self.scheduler.name());
        let has_own = self.scheduler == Scheduler::YoloxCosine;
        if has_own != (self.family == Family::Yolox) {
            let reason = format!("scheduler={scheduler} is not one of {family}'s");
            return refused(reason);
        }
        let is_typed = |key: &str| assignments.iter().any(|typed| typed.key == key);
        if self.family == Family::Yolox && is_typed("aux_weight") {
            return refused(format!("aux_weight: {family} has no auxiliary head"));
        }
        if self.family == Family::Yolo9 && self.mixup > 0.0 {
            let reason = format!("mixup={} is YOLOX's here, not {family}'s", self.mixup);
            return refused(reason).map_err(|error| {
                error.suggest(
                    "LibreYOLO's is another one: leave mixup out, or train with engine = \"libreyolo\"",
                )
            });
        }
        let groups = self.freeze.prefixes(self.family);
        groups.map_err(|reason| ConfigError::new(Code::WrongType, format!("freeze {reason}")))?;
        Ok(())
    }

    /// Sets one key.
    ///
    /// # Errors
    /// As [`TrainConfig::from_assignments`].
    pub fn assign(&mut self, assignment: &Assignment) -> Result<(), ConfigError> {
        let Assignment { key, value } = assignment;
        if let Some(info) = KEYS
            .iter()
            .find(|info| info.name == key || info.alias == Some(key))
        {
            return (info.set)(self, value)
                .map_err(|(code, reason)| ConfigError::new(code, format!("{key} {reason}")));
        }
        if fixed::check(key, value)? {
            return Ok(());
        }
        Err(unknown(
            key,
            KEYS.iter().map(|info| info.name).chain(fixed::names()),
        ))
    }
}

fn model_of(assignments: &[Assignment]) -> Option<&str> {
    let model = assignments.iter().rfind(|typed| typed.key == "model");
    model.map(|typed| typed.value.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(words: &[(&str, &str)]) -> Result<TrainConfig, ConfigError> {
        let assignments: Vec<Assignment> = [("data", "d.yaml")]
            .iter()
            .chain(words)
            .map(|(key, value)| Assignment {
                key: (*key).to_owned(),
                value: (*value).to_owned(),
            })
            .collect();
        TrainConfig::from_assignments(&assignments)
    }

    #[test]
    fn values_arrive() {
        let config = config(&[
            ("epochs", "15"),
            ("imgsz", "320"),
            ("mosaic_scale", "(0.4,1.2)"),
            ("resume", "true"),
            ("fliplr", "0.25"),
        ])
        .unwrap();
        assert_eq!(
            (config.epochs, config.imgsz, config.mosaic_scale),
            (15, 320, (0.4, 1.2))
        );
        assert_eq!((config.resume, config.flip_prob), (Resume::Last, 0.25));
    }

    #[test]
    fn classes_are_a_set() {
        let classes = |text| config(&[("classes", text)]).map(|config| config.selection.classes);
        assert_eq!(classes("5, 0,3").unwrap(), [0, 3, 5]);
        assert_eq!(classes("[1]").unwrap(), [1]);
        assert_eq!(classes("none").unwrap(), [0; 0]);
        for wrong in ["1,1", "-1", "cat", ",", "1.5"] {
            assert_eq!(classes(wrong).unwrap_err().code, Code::WrongType, "{wrong}");
        }
    }

    #[test]
    fn batches_are_gathered_as_there() {
        for (nbs, batch, expected) in [
            ("none", "16", 1),
            ("64", "16", 4),
            ("8", "16", 1),
            ("24", "16", 2),
            ("40", "16", 2),
            ("1", "16", 1),
        ] {
            let config = config(&[("nbs", nbs), ("batch", batch)]).unwrap();
            assert_eq!(config.batches_per_step(), expected, "{nbs}/{batch}");
        }
    }

    #[test]
    fn a_typo_is_answered() {
        let error = config(&[("epochz", "3")]).unwrap_err();
        assert_eq!(error.code, Code::UnknownKey);
        assert_eq!(error.suggestion.as_deref(), Some("Did you mean `epochs`?"));
        assert_eq!(config(&[("qqqqqqqqq", "3")]).unwrap_err().suggestion, None);
    }

    #[test]
    fn ranges_hold() {
        for (key, value, code) in [
            ("epochs", "0", Code::OutOfRange),
            ("epochs", "abc", Code::WrongType),
            ("batch", "0", Code::OutOfRange),
            ("imgsz", "0", Code::InvalidImageSize),
            ("lr0", "-1", Code::OutOfRange),
            ("mosaic", "1.5", Code::OutOfRange),
            ("ema", "maybe", Code::WrongType),
            ("optimizer", "lion", Code::Unsupported),
            ("scheduler", "step", Code::Unsupported),
            ("scheduler", "yoloxwarmcos", Code::Unsupported),
            ("freeze", "20", Code::WrongType),
            ("mixup", "0.5", Code::Unsupported),
            ("cache", "disk", Code::Unsupported),
        ] {
            let error = config(&[(key, value)]).unwrap_err();
            assert_eq!(error.code, code, "{key}={value}: {error}");
            assert_eq!(error.code.exit_code(), 2);
        }
    }

    #[test]
    fn the_canvas_is_whole_strides() {
        assert_eq!(config(&[("imgsz", "100")]).unwrap().imgsz, 128);
        assert_eq!(config(&[("imgsz", "320")]).unwrap().imgsz, 320);
    }

    #[test]
    fn the_model_decides_the_defaults() {
        let found = config(&[("degrees", "5"), ("model", "LibreYOLOXs.pt")]).unwrap();
        assert_eq!((found.family, found.degrees), (Family::Yolox, 5.0));
        assert_eq!((found.momentum, found.mixup, found.shear), (0.9, 1.0, 2.0));
        assert_eq!(found.scheduler, Scheduler::YoloxCosine);
        for (key, value) in [
            ("aux_weight", "0.25"),
            ("scheduler", "linear"),
            ("freeze", "3"),
        ] {
            let words = [("model", "yolox-s"), (key, value)];
            let error = config(&words).unwrap_err();
            assert_eq!(error.code.exit_code(), 2, "{key}: {error}");
            // What a file holds is not known yet.
            config(&[("model", "best.pt"), ("scheduler", "yoloxwarmcos")]).unwrap();
        }
    }

    #[test]
    fn data_is_required() {
        assert_eq!(
            TrainConfig::from_assignments(&[]).unwrap_err().code,
            Code::RequiredKey
        );
    }

    #[test]
    fn neutral_values_of_what_is_missing_pass() {
        config(&[
            ("mixup", "0"),
            ("degrees", "0.0"),
            ("cache", "false"),
            ("lora", "false"),
        ])
        .unwrap();
    }
}
