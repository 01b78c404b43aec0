//! Non-maximum suppression, class by class.

use super::detection::Detection;
use crate::data::ImageInfo;

/// What is kept of a prediction. The defaults are LibreYOLO's during a training.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NmsConfig {
    /// Only scores above this are candidates.
    pub confidence: f32,
    /// A candidate is dropped when it overlaps a better one of its class by more.
    pub iou: f32,
    /// Candidates per image, the best ones.
    pub max_candidates: usize,
    /// Detections per image, the best ones.
    pub max_detections: usize,
    /// Which classes of a box are candidates.
    pub labels: Labels,
}

/// Which classes of a box are candidates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Labels {
    /// All: a box may be several detections.
    All,
    /// The most probable one, the first of equals.
    Best,
}

impl Default for NmsConfig {
    fn default() -> Self {
        Self {
            confidence: 0.001,
            iou: 0.65,
            max_candidates: 30_000,
            max_detections: 300,
            labels: Labels::All,
        }
    }
}

/// The detections of a batch, image by image, best first.
///
/// `predictions` is `[B, 4 + classes, A]`, contiguous: box corners `x1, y1, x2, y2` in pixels of the canvas,
/// then one score in 0 to 1 per class. `infos` says for each of the `B` images where it came from; boxes come
/// back in pixels of the original image, clipped to it. Predictions that aren't finite are passed over.
///
/// # Panics
/// When the slice isn't of that shape.
pub fn suppress(
    predictions: &[f32],
    classes: usize,
    infos: &[ImageInfo],
    config: &NmsConfig,
) -> Vec<Detection> {
    let rows = 4 + classes;
    assert!(
        predictions.len().is_multiple_of(rows * infos.len().max(1)),
        "{} predictions can't be {} images of {rows} rows",
        predictions.len(),
        infos.len()
    );
    if infos.is_empty() {
        return Vec::new();
    }
    let image_length = predictions.len() / infos.len();
    let images = predictions.chunks_exact(image_length.max(1)).zip(infos);
    images
        .flat_map(|(image, info)| suppress_image(image, classes, info, config))
        .collect()
}

fn suppress_image(
    image: &[f32],
    classes: usize,
    info: &ImageInfo,
    config: &NmsConfig,
) -> Vec<Detection> {
    let anchors = image.len() / (4 + classes);
    let (boxes, scores) = image.split_at(4 * anchors);
    let mut candidates = candidates(scores, anchors, classes, config);
    let most = config.max_candidates.max(config.max_detections);
    if candidates.len() > most {
        candidates.select_nth_unstable(most);
        candidates.truncate(most);
    }
    candidates.sort_unstable();
    let mut kept: Vec<Detection> = Vec::new();
    // Greedy suppression by falling score over all classes at once keeps, per class, what it keeps for that
    // class alone, and the first to be kept are the best: so it can stop at the limit, and compares each
    // candidate with at most that many boxes instead of with all others.
    let mut by_class: Vec<Vec<Rectangle>> = vec![Vec::new(); classes];
    for candidate in candidates {
        if kept.len() == config.max_detections {
            break;
        }
        let (anchor, class) = (
            candidate.index as usize / classes,
            candidate.index as usize % classes,
        );
        let corners = [0, 1, 2, 3].map(|row| boxes[row * anchors + anchor]);
        let Some(rectangle) = Rectangle::in_original(corners, info) else {
            continue;
        };
        if by_class[class]
            .iter()
            .all(|better| better.iou(&rectangle) <= config.iou)
        {
            by_class[class].push(rectangle);
            let score = candidate.score();
            kept.push(Detection {
                image_id: info.image_id,
                class,
                score,
                corners: rectangle.corners,
            });
        }
    }
    kept
}

/// A score and where it stands. Ordered best first, equal scores in order of anchor and class.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Candidate {
    /// The bits of a positive float order like the float; inverted, the largest comes first.
    inverted_score: u32,
    /// `anchor * classes + class`.
    index: u32,
}

impl Candidate {
    fn score(self) -> f32 {
        f32::from_bits(!self.inverted_score)
    }
}

fn candidates(
    scores: &[f32],
    anchors: usize,
    classes: usize,
    config: &NmsConfig,
) -> Vec<Candidate> {
    // Negative thresholds would break the order of bits; no score is below 0.
    let confidence = config.confidence.max(0.0);
    let is_best = |anchor: usize, class: usize, score: f32| {
        let mut others = scores.iter().skip(anchor).step_by(anchors).enumerate();
        others.all(|(other, rival)| *rival < score || (*rival == score && other >= class))
    };
    let mut found = Vec::new();
    for (class, row) in scores.chunks_exact(anchors.max(1)).enumerate() {
        for (anchor, score) in row.iter().enumerate() {
            let is_candidate = *score > confidence
                && score.is_finite()
                && (config.labels == Labels::All || is_best(anchor, class, *score));
            if is_candidate {
                let index = (anchor * classes + class) as u32;
                found.push(Candidate {
                    inverted_score: !score.to_bits(),
                    index,
                });
            }
        }
    }
    found
}

#[derive(Clone, Copy)]
struct Rectangle {
    corners: [f32; 4],
    area: f32,
}

impl Rectangle {
    /// A box of the canvas in the original image; `None` when nothing of it lies there.
    fn in_original(corners: [f32; 4], info: &ImageInfo) -> Option<Self> {
        if !corners.iter().all(|edge| edge.is_finite()) {
            return None;
        }
        let (width, height) = (info.original.0 as f32, info.original.1 as f32);
        let [x1, y1, x2, y2] = info.letterbox.undo(corners);
        let corners = [
            x1.clamp(0.0, width),
            y1.clamp(0.0, height),
            x2.clamp(0.0, width),
            y2.clamp(0.0, height),
        ];
        let [x1, y1, x2, y2] = corners;
        (x2 > x1 && y2 > y1).then_some(Self {
            corners,
            area: (x2 - x1) * (y2 - y1),
        })
    }

    fn iou(&self, other: &Self) -> f32 {
        let [ax1, ay1, ax2, ay2] = self.corners;
        let [bx1, by1, bx2, by2] = other.corners;
        let width = (ax2.min(bx2) - ax1.max(bx1)).max(0.0);
        let height = (ay2.min(by2) - ay1.max(by1)).max(0.0);
        let intersection = width * height;
        intersection / (self.area + other.area - intersection)
    }
}

#[cfg(test)]
mod tests;
