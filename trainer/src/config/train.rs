//! One training run's settings.

use std::path::PathBuf;

use gpurun_dataset::ClassSelection;

use super::error::{Code, ConfigError};
use super::fixed;
use super::freeze::Freeze;
use super::key_info::unknown;
use super::keys::KEYS;
use super::settings::Assignment;
use crate::optim::Method;

/// Everything that decides a run. Defaults are LibreYOLO's for YOLO9.
#[derive(Debug, Clone, PartialEq)]
pub struct TrainConfig {
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
    /// Weight of the auxiliary head's loss; 0 trains without that head.
    pub aux_weight: f64,

    pub mosaic: f64,
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
        }
    }
}

impl Default for TrainConfig {
    fn default() -> Self {
        TrainConfig {
            data: PathBuf::new(),
            model: "yolo9-t".to_owned(),
            pretrained: true,
            epochs: 300,
            batch: 16,
            auto_batch: false,
            imgsz: 640,
            device: "auto".to_owned(),
            workers: 8,
            cache: false,
            selection: ClassSelection::default(),
            seed: 0,
            resume: Resume::No,
            nbs: None,
            optimizer: Method::Sgd,
            lr0: 0.01,
            momentum: 0.937,
            weight_decay: 0.0005,
            nesterov: true,
            scheduler: Scheduler::Linear,
            warmup_epochs: 3,
            warmup_lr_start: 0.0001,
            warmup_momentum: 0.8,
            min_lr_ratio: 0.01,
            ema: true,
            ema_decay: 0.9999,
            amp: true,
            amp_dtype: AmpType::Float16,
            freeze: Freeze::default(),
            aux_weight: 0.25,
            mosaic: 1.0,
            hsv_prob: 1.0,
            flip_prob: 0.5,
            translate: 0.1,
            mosaic_scale: (0.5, 1.5),
            no_aug_epochs: 15,
            val: true,
            eval_interval: 10,
            max_det: 300,
            patience: 50,
            project: PathBuf::from("runs/train"),
            name: "yolo9_exp".to_owned(),
            exist_ok: false,
            save_period: 10,
        }
    }
}

impl TrainConfig {
    /// Defaults changed by what the user typed; a key typed twice takes the last value.
    ///
    /// # Errors
    /// For an unknown key, a value of the wrong type or out of range, a feature of LibreYOLO this
    /// trainer lacks, and a missing `data`.
    pub fn from_assignments(assignments: &[Assignment]) -> Result<Self, ConfigError> {
        let mut config = TrainConfig::default();
        for assignment in assignments {
            config.assign(assignment)?;
        }
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
