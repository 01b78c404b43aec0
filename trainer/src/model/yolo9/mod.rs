//! YOLO9 (YOLOv9 as LibreYOLO builds it), sizes t, s, m and c.
//!
//! The design is that of Wang, Yeh, Liao: "YOLOv9: Learning What You Want to Learn Using Programmable Gradient
//! Information", 2024.

mod backbone;
mod blocks;
mod config;
mod detector;
mod head;
mod neck;
mod size;

pub use config::Yolo9Config;
pub(super) use config::depends_on_classes;
pub(super) use detector::Yolo9;
pub use head::REG_MAX;
pub(crate) use head::expected_distance;
pub use size::Yolo9Size;

/// What freezing counts.
pub(super) const LAYER_GROUPS: [&str; 19] = [
    "backbone.conv0",
    "backbone.conv1",
    "backbone.elan1",
    "backbone.down2",
    "backbone.elan2",
    "backbone.down3",
    "backbone.elan3",
    "backbone.down4",
    "backbone.elan4",
    "backbone.spp",
    "neck.elan_up1",
    "neck.elan_up2",
    "neck.down1",
    "neck.elan_down1",
    "neck.down2",
    "neck.elan_down2",
    "head",
    "aux",
    "aux_head",
];

#[cfg(test)]
mod tests;
