//! LibreYOLO's settings this trainer has no use for: the neutral value passes, any other is refused.

use super::error::{Code, ConfigError};

/// Key, and the values that change nothing here; none listed means that any value changes nothing.
const FIXED: &[(&str, &[&str])] = &[
    ("task", &["detect"]),
    ("min_samples", &["0"]),
    ("class_balanced", &["false"]),
    ("cls_pw", &["0"]),
    ("class_weights", &["false"]),
    ("average_best", &["0"]),
    ("export_check", &["false"]),
    ("precise_bn", &["0"]),
    ("cuda_graph", &["false"]),
    ("compile", &["false"]),
    ("lora", &["false"]),
    ("distill_model", &["none", ""]),
    ("dis", &["none", ""]),
    ("distill_loss_type", &[]),
    ("lr_drop", &[]),
    ("flipud", &["0"]),
    ("auto_augment", &["none", ""]),
    ("erasing", &["0"]),
    ("cutmix", &["0"]),
    ("scale", &[]),
    ("crop_pct", &["none", ""]),
    ("eval_max_det", &["none", ""]),
    ("faster_coco_eval", &[]),
    ("save_plots", &["false"]),
    ("plot_samples", &[]),
    ("log_interval", &[]),
    ("allow_download_scripts", &["false"]),
];

/// The keys, for suggestions.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    FIXED.iter().map(|(name, _)| *name)
}

/// Whether `key` is one of these.
///
/// # Errors
/// When it is and `value` asks for something.
pub(super) fn check(key: &str, value: &str) -> Result<bool, ConfigError> {
    let Some((_, neutral)) = FIXED.iter().find(|(name, _)| *name == key) else {
        return Ok(false);
    };
    let value = value.to_ascii_lowercase();
    let is_zero = value.parse::<f64>() == Ok(0.0);
    let passes = neutral.is_empty()
        || neutral
            .iter()
            .any(|allowed| *allowed == value || (*allowed == "0" && is_zero));
    if passes {
        return Ok(true);
    }
    Err(ConfigError::new(
        Code::Unsupported,
        format!("{key}={value} is LibreYOLO's; gpurun-train can't do it"),
    )
    .suggest(format!(
        "Leave {key} out, or train with engine = \"libreyolo\""
    )))
}
