//! Boxes that were found and boxes that should have been.

use gpurun_dataset::{CocoBox, Label};

/// A box the network found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Detection {
    /// Which image.
    pub image_id: usize,
    /// Class id.
    pub class: usize,
    /// Confidence, 0 to 1.
    pub score: f32,
    /// `[x1, y1, x2, y2]` in pixels of the original image.
    pub corners: [f32; 4],
}

impl Detection {
    /// `[x, y, width, height]` in pixels.
    pub(super) fn xywh(&self) -> [f64; 4] {
        let [x1, y1, x2, y2] = self.corners.map(f64::from);
        [x1, y1, x2 - x1, y2 - y1]
    }
}

/// A box that is there.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GroundTruth {
    /// Which image.
    pub image_id: usize,
    /// Class id.
    pub class: usize,
    /// `[x, y, width, height]` in pixels of the original image.
    pub xywh: [f64; 4],
    /// In square pixels; decides whether the box counts as small, medium or large.
    pub area: f64,
    /// Many objects in one box: detections within it are neither right nor wrong. Text labels know no such thing.
    pub crowd: bool,
}

impl GroundTruth {
    /// A box of a COCO file.
    pub fn of_coco(image_id: usize, found: &CocoBox) -> Self {
        let CocoBox {
            class,
            xywh,
            area,
            crowd,
        } = *found;
        Self {
            image_id,
            class,
            xywh,
            area,
            crowd,
        }
    }

    /// The labels of an image of size `(width, height)`.
    pub fn of_labels(
        image_id: usize,
        labels: &[Label],
        size: (u32, u32),
    ) -> impl Iterator<Item = Self> {
        labels.iter().map(move |label| {
            let [x1, y1, x2, y2] = label.corners(size.0, size.1);
            let (width, height) = (x2 - x1, y2 - y1);
            Self {
                image_id,
                class: label.class,
                xywh: [x1, y1, width, height],
                area: width * height,
                crowd: false,
            }
        })
    }
}

/// Intersection over union of two boxes `[x, y, width, height]`; with a crowd, over the detection alone.
pub(super) fn iou(detection: [f64; 4], truth: &GroundTruth) -> f64 {
    let (a, b) = (detection, truth.xywh);
    let overlap =
        |axis: usize| (a[axis] + a[axis + 2]).min(b[axis] + b[axis + 2]) - a[axis].max(b[axis]);
    let (width, height) = (overlap(0), overlap(1));
    if width <= 0.0 || height <= 0.0 {
        return 0.0;
    }
    let intersection = width * height;
    let others = if truth.crowd {
        0.0
    } else {
        b[2] * b[3] - intersection
    };
    intersection / (a[2] * a[3] + others)
}
