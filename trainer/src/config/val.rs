//! A validation's settings.

use std::path::PathBuf;

use gpurun_dataset::ClassSelection;

use super::error::{Code, ConfigError};
use super::key_info::{classes, unknown};
use super::settings::{Assignment, Refusal, bool, float, int};

/// `gpurun-train val`: defaults are LibreYOLO's, `iou` its training-time value.
#[derive(Debug, Clone, PartialEq)]
pub struct ValConfig {
    pub data: PathBuf,
    pub model: PathBuf,
    pub split: String,
    /// Where it changes nothing, what the weights were trained with.
    pub selection: ClassSelection,
    pub batch: u32,
    /// None: the size the checkpoint was trained at.
    pub imgsz: Option<u32>,
    pub device: String,
    pub workers: u32,
    /// Scores below this are no detections.
    pub conf: f64,
    /// Overlap above which the lower-scored of two boxes of a class is dropped.
    pub iou: f64,
    pub max_det: u32,
}

const NAMES: [&str; 12] = [
    "data",
    "model",
    "split",
    "single_cls",
    "classes",
    "batch",
    "imgsz",
    "device",
    "workers",
    "conf",
    "iou",
    "max_det",
];

impl Default for ValConfig {
    fn default() -> Self {
        ValConfig {
            data: PathBuf::new(),
            model: PathBuf::new(),
            split: "val".to_owned(),
            selection: ClassSelection::default(),
            batch: 16,
            imgsz: None,
            device: "auto".to_owned(),
            workers: 4,
            conf: 0.001,
            iou: 0.65,
            max_det: 300,
        }
    }
}

impl ValConfig {
    /// Defaults changed by what the user typed.
    ///
    /// # Errors
    /// For an unknown key, a wrong value, and a missing `data` or `model`.
    pub fn from_assignments(assignments: &[Assignment]) -> Result<Self, ConfigError> {
        let mut config = ValConfig::default();
        for Assignment { key, value } in assignments {
            if !NAMES.contains(&key.as_str()) {
                return Err(unknown(key, NAMES.into_iter()));
            }
            config
                .set(key, value)
                .map_err(|(code, reason)| ConfigError::new(code, format!("{key} {reason}")))?;
        }
        for (name, path) in [("model", &config.model), ("data", &config.data)] {
            if path.as_os_str().is_empty() {
                return Err(
                    ConfigError::new(Code::RequiredKey, format!("`{name}` is required")).suggest(
                        "For example: gpurun-train val model=weights/best.pt data=data.yaml",
                    ),
                );
            }
        }
        Ok(config)
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), Refusal> {
        match key {
            "data" => self.data = PathBuf::from(value),
            "model" => self.model = PathBuf::from(value),
            "split" if matches!(value, "train" | "val" | "test") => self.split = value.to_owned(),
            "split" => {
                return Err((
                    Code::WrongType,
                    format!("must be train, val or test, got `{value}`"),
                ));
            }
            "single_cls" => self.selection.single = bool(value)?,
            "classes" => self.selection.classes = classes(value)?,
            "batch" => self.batch = unsigned(value, 1, 65_536)?,
            "imgsz" => {
                let side = unsigned(value, 1, 8192)
                    .map_err(|(_, reason)| (Code::InvalidImageSize, reason))?;
                self.imgsz = Some(side.next_multiple_of(32));
            }
            "device" => self.device = value.to_owned(),
            "workers" => self.workers = unsigned(value, 0, 1024)?,
            "conf" => self.conf = float(value, 0.0..=1.0)?,
            "iou" => self.iou = float(value, 0.0..=1.0)?,
            _ => self.max_det = unsigned(value, 1, 30_000)?,
        }
        Ok(())
    }
}

fn unsigned(text: &str, low: i64, high: i64) -> Result<u32, Refusal> {
    Ok(u32::try_from(int(text, low..=high)?).expect("every range here lies in u32"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(words: &[(&str, &str)]) -> Result<ValConfig, ConfigError> {
        let assignments: Vec<Assignment> = words
            .iter()
            .map(|(key, value)| Assignment {
                key: (*key).to_owned(),
                value: (*value).to_owned(),
            })
            .collect();
        ValConfig::from_assignments(&assignments)
    }

    #[test]
    fn values_arrive() {
        let config = config(&[("model", "b.pt"), ("data", "d.yaml"), ("iou", "0.6")]).unwrap();
        assert_eq!((config.iou, config.imgsz, config.conf), (0.6, None, 0.001));
    }

    #[test]
    fn mistakes_are_named() {
        assert_eq!(
            config(&[("data", "d.yaml")]).unwrap_err().code,
            Code::RequiredKey
        );
        assert_eq!(config(&[("iuo", "1")]).unwrap_err().code, Code::UnknownKey);
        assert_eq!(
            config(&[("split", "dev")]).unwrap_err().code,
            Code::WrongType
        );
    }
}
