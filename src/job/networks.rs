//! The networks that `gpurun-train` knows by name.

/// Name, and megabytes of a checkpoint: weights, their running average, a second copy of it and the momentum, 16
/// bytes a parameter (measured: 35 for yolo9-t).
const NETWORKS: [(&str, u64); 10] = [
    ("yolo9-t", 36),
    ("yolo9-s", 126),
    ("yolo9-m", 352),
    ("yolo9-c", 446),
    ("yolox-n", 15),
    ("yolox-t", 82),
    ("yolox-s", 145),
    ("yolox-m", 406),
    ("yolox-l", 869),
    ("yolox-x", 1587),
];

/// Of a model that isn't known: a large one.
const UNKNOWN: u64 = 500;

/// What one checkpoint of a model takes, by its name.
pub(crate) fn checkpoint_megabytes(model: &str) -> u64 {
    network(model).map_or(UNKNOWN, |(_, megabytes)| megabytes)
}

/// Whether `gpurun-train` can train it: a network, or a file of weights, whatever that holds.
pub(super) fn is_trainable(model: &str) -> bool {
    let is_weights = [".pt", ".safetensors"]
        .iter()
        .any(|ending| model.ends_with(ending));
    is_weights || network(model).is_some()
}

/// For messages.
pub(super) fn names() -> String {
    NETWORKS.map(|(name, _)| name).join(", ")
}

/// By any spelling: `yolo9-t`, `YOLO9t`, `LibreYOLO9t.pt`.
fn network(model: &str) -> Option<(&'static str, u64)> {
    let plain = |name: &str| name.to_ascii_lowercase().replace(['-', '_'], "");
    let wanted = plain(model);
    let wanted = wanted.trim_end_matches(".pt");
    let wanted = wanted.strip_prefix("libre").unwrap_or(wanted);
    NETWORKS.into_iter().find(|(name, _)| plain(name) == wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_have_many_spellings() {
        for model in ["yolox-s", "YOLOXs", "LibreYOLOXs.pt", "yolox_s"] {
            assert_eq!(checkpoint_megabytes(model), 145, "{model}");
            assert!(is_trainable(model), "{model}");
        }
        assert!(is_trainable("runs/cells/weights/best.pt"));
        assert_eq!(checkpoint_megabytes("best.pt"), UNKNOWN);
        for model in ["yolo9-x", "yolov8n", ""] {
            assert!(!is_trainable(model), "{model}");
        }
    }
}
