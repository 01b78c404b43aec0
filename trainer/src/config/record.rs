//! All of LibreYOLO's settings as one flat record: train_config.yaml, and `config` in a checkpoint.

use super::error::ConfigError;
use super::keys::KEYS;
use super::settings::{Assignment, Setting};
use super::train::TrainConfig;
use crate::model::Family;

/// Settings this trainer has no use for, at the value that says so, and placeholders (`None`) for the
/// keys of [`KEYS`], all in LibreYOLO's order.
const LAYOUT: &[(&str, Option<Fixed>)] = &[
    ("data", None),
    ("data_dir", Some(Fixed::Null)),
    ("imgsz", None),
    ("single_cls", None),
    ("classes", None),
    ("epochs", None),
    ("batch", None),
    ("device", None),
    ("sync_bn", Some(Fixed::Bool(true))),
    ("optimizer", None),
    ("lr0", None),
    ("momentum", None),
    ("weight_decay", None),
    ("nesterov", None),
    ("scheduler", None),
    ("warmup_epochs", None),
    ("warmup_lr_start", None),
    ("no_aug_epochs", None),
    ("min_lr_ratio", None),
    ("mosaic_prob", None),
    ("mixup_prob", None),
    ("hsv_prob", None),
    ("flip_prob", None),
    ("degrees", None),
    ("translate", None),
    ("mosaic_scale", None),
    ("mixup_scale", None),
    ("shear", None),
    ("perspective", Some(Fixed::Float(0.0))),
    ("flipud", Some(Fixed::Float(0.0))),
    ("auto_augment", Some(Fixed::Null)),
    ("erasing", Some(Fixed::Float(0.0))),
    ("mixup", Some(Fixed::Float(0.0))),
    ("cutmix", Some(Fixed::Float(0.0))),
    ("scale", Some(Fixed::Floats(0.5, 1.0))),
    ("crop_pct", Some(Fixed::Null)),
    ("ema", None),
    ("ema_decay", None),
    ("amp", None),
    ("amp_dtype", None),
    ("cuda_graph", Some(Fixed::Bool(false))),
    ("compile", Some(Fixed::Bool(false))),
    ("freeze", None),
    ("lora", Some(Fixed::Bool(false))),
    ("nbs", None),
    ("distill_model", Some(Fixed::Null)),
    ("dis", Some(Fixed::Null)),
    ("distill_loss_type", Some(Fixed::Text("mgd"))),
    ("distill_mask_ratio", Some(Fixed::Float(0.65))),
    ("distill_tau", Some(Fixed::Float(1.0))),
    ("distill_normalize", Some(Fixed::Bool(false))),
    ("project", None),
    ("name", None),
    ("exist_ok", None),
    ("save_period", None),
    ("eval_interval", None),
    ("max_det", None),
    ("eval_max_det", Some(Fixed::Null)),
    ("faster_coco_eval", Some(Fixed::Bool(true))),
    ("save_plots", Some(Fixed::Bool(false))),
    ("plot_samples", Some(Fixed::Int(8))),
    ("val_loss", Some(Fixed::Bool(false))),
    ("workers", None),
    ("cache", None),
    ("min_samples", Some(Fixed::Int(0))),
    ("class_balanced", Some(Fixed::Bool(false))),
    ("cls_pw", Some(Fixed::Float(0.0))),
    ("class_weights", Some(Fixed::Bool(false))),
    ("average_best", Some(Fixed::Int(0))),
    ("export_check", Some(Fixed::Bool(false))),
    ("precise_bn", Some(Fixed::Int(0))),
    ("patience", None),
    ("resume", None),
    ("log_interval", Some(Fixed::Int(10))),
    ("seed", None),
    ("allow_download_scripts", Some(Fixed::Bool(false))),
    ("profile", Some(Fixed::Bool(false))),
    ("profile_then_stop", Some(Fixed::Bool(false))),
    ("profile_warmup", Some(Fixed::Int(5))),
    ("profile_steps", Some(Fixed::Int(20))),
    ("profile_trace", Some(Fixed::Bool(true))),
    ("profile_open", Some(Fixed::Bool(true))),
    ("mask_downsample_ratio", Some(Fixed::Int(4))),
    ("max_labels", Some(Fixed::Int(300))),
    ("aux_weight", None),
    ("warmup_momentum", None),
    ("letterbox_pad", Some(Fixed::Null)),
    ("copy_paste", Some(Fixed::Float(0.0))),
    ("copy_paste_mode", Some(Fixed::Text("flip"))),
    ("rot90", Some(Fixed::Float(0.0))),
];

/// The last keys of the layout, which LibreYOLO has for YOLO9 alone.
const OF_YOLO9: usize = 8;

/// Keys a resumed run takes from its command line, never from the checkpoint.
const NOT_RESTORED: &[&str] = &["data", "device", "project", "name", "exist_ok", "resume"];

#[derive(Clone, Copy)]
enum Fixed {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(&'static str),
    Floats(f64, f64),
}

/// The whole record, in LibreYOLO's order; `size` and `classes` come from the model and the data.
pub fn record(config: &TrainConfig, size: &str, classes: usize) -> Vec<(&'static str, Setting)> {
    let mut record = vec![
        ("size", Setting::Text(size.to_owned())),
        ("num_classes", Setting::Int(classes as i64)),
    ];
    let layout = match config.family {
        Family::Yolo9 => LAYOUT,
        Family::Yolox => &LAYOUT[..LAYOUT.len() - OF_YOLO9],
    };
    record.extend(layout.iter().map(|(name, fixed)| {
        (
            *name,
            fixed.map_or_else(|| current(config, name), Setting::from),
        )
    }));
    record
}

impl TrainConfig {
    /// Takes over a checkpoint's settings, as `(record key, text)`; keys not used here are passed over.
    ///
    /// # Errors
    /// When a value does not fit its key.
    pub fn restore<'a>(
        &mut self,
        saved: impl Iterator<Item = (&'a str, String)>,
    ) -> Result<(), ConfigError> {
        for (name, value) in saved {
            let ours = LAYOUT
                .iter()
                .any(|(known, fixed)| *known == name && fixed.is_none());
            if !ours || NOT_RESTORED.contains(&name) {
                continue;
            }
            if name == "warmup_momentum" {
                self.warmup_momentum = value.parse().unwrap_or(self.warmup_momentum);
                continue;
            }
            self.assign(&Assignment {
                key: key_of(name).to_owned(),
                value,
            })?;
        }
        Ok(())
    }
}

fn current(config: &TrainConfig, name: &str) -> Setting {
    if name == "warmup_momentum" {
        return Setting::Float(config.warmup_momentum);
    }
    let key = key_of(name);
    KEYS.iter()
        .find(|info| info.name == key)
        .map_or(Setting::Null, |info| (info.get)(config))
}

/// The command line's name of a record key.
fn key_of(name: &str) -> &str {
    match name {
        "mosaic_prob" => "mosaic",
        "mixup_prob" => "mixup",
        other => other,
    }
}

impl From<Fixed> for Setting {
    fn from(fixed: Fixed) -> Self {
        match fixed {
            Fixed::Null => Setting::Null,
            Fixed::Bool(bool) => Setting::Bool(bool),
            Fixed::Int(int) => Setting::Int(int),
            Fixed::Float(float) => Setting::Float(float),
            Fixed::Text(text) => Setting::Text(text.to_owned()),
            Fixed::Floats(low, high) => Setting::Floats(vec![low, high]),
        }
    }
}

#[cfg(test)]
mod tests {
    use gpurun_dataset::ClassSelection;

    use super::*;

    /// The keys of LibreYOLO 1.6.0's train_config.yaml for YOLO9, in its order.
    const LIBREYOLO_KEYS: &str = include_str!("libreyolo_keys.txt");

    #[test]
    fn the_keys_are_libreyolos() {
        let record = record(&TrainConfig::default(), "t", 3);
        let ours: Vec<&str> = record.iter().map(|(name, _)| *name).collect();
        assert_eq!(ours, LIBREYOLO_KEYS.lines().collect::<Vec<_>>());
        for (name, setting) in &record {
            let is_placeholder = LAYOUT
                .iter()
                .any(|(known, fixed)| known == name && fixed.is_none());
            // Only these keys' default is nothing.
            let is_placeholder = is_placeholder && !["freeze", "classes", "nbs"].contains(name);
            assert!(
                !is_placeholder || *setting != Setting::Null,
                "{name} has no key"
            );
        }
    }

    /// LibreYOLO's YOLOX has the same settings but YOLO9's own.
    #[test]
    fn yoloxs_keys_are_libreyolos() {
        let config = TrainConfig::of_family(Family::Yolox, &[]).unwrap();
        let record = record(&config, "s", 3);
        let ours: Vec<&str> = record.iter().map(|(name, _)| *name).collect();
        let all: Vec<&str> = LIBREYOLO_KEYS.lines().collect();
        assert_eq!(ours.last(), Some(&"profile_open"));
        assert_eq!(ours, all[..ours.len()]);
        let mixup = record.iter().find(|(name, _)| *name == "mixup_prob");
        assert_eq!(mixup.unwrap().1, Setting::Float(1.0));
    }

    #[test]
    fn a_record_restores_what_made_it() {
        let mut original = TrainConfig {
            epochs: 7,
            nbs: Some(64),
            selection: ClassSelection {
                classes: vec![0, 3],
                single: true,
            },
            mosaic: 0.25,
            mosaic_scale: (0.2, 0.3),
            ..TrainConfig::default()
        };
        original.name = "first".to_owned();
        let saved: Vec<(&str, String)> = record(&original, "t", 3)
            .into_iter()
            .map(|(name, setting)| (name, setting.to_string()))
            .collect();
        let mut restored = TrainConfig {
            name: "second".to_owned(),
            ..TrainConfig::default()
        };
        restored.restore(saved.into_iter()).unwrap();
        assert_eq!(
            restored,
            TrainConfig {
                name: "second".to_owned(),
                ..original
            }
        );
    }
}
