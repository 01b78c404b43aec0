//! The twelve figures.

use std::collections::BTreeMap;

use super::best_confidence::best_confidence;
use super::curve::{Curve, curve};
use super::detection::{Detection, GroundTruth};
use super::matching::{AREAS, Matches, THRESHOLDS, match_image};

/// COCO's figures. A figure is -1 where there is no box to measure it on, as pycocotools has it, and all are 0
/// where there is no detection at all, as LibreYOLO has it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CocoSummary {
    /// Detections per image and class that count for all figures but AR1, AR10 and AR100.
    pub max_detections: usize,
    /// Mean average precision over IoU 0.50 to 0.95.
    pub ap: f64,
    /// At IoU 0.50.
    pub ap50: f64,
    /// At IoU 0.75.
    pub ap75: f64,
    /// Of boxes below 32 x 32 pixels.
    pub ap_small: f64,
    /// Of boxes between small and large.
    pub ap_medium: f64,
    /// Of boxes above 96 x 96 pixels.
    pub ap_large: f64,
    /// Average recall with one detection per image and class.
    pub ar1: f64,
    /// Average recall with ten.
    pub ar10: f64,
    /// Average recall with a hundred.
    pub ar100: f64,
    /// Average recall with [`Self::max_detections`].
    pub ar: f64,
    /// Of boxes below 32 x 32 pixels.
    pub ar_small: f64,
    /// Of boxes between small and large.
    pub ar_medium: f64,
    /// Of boxes above 96 x 96 pixels.
    pub ar_large: f64,
    /// The score at which F1 is best at IoU 0.50; 0 when nothing right was found.
    pub best_confidence: f64,
    /// F1 there.
    pub best_f1: f64,
}

/// Compares detections with the boxes that are there, over the images of both.
///
/// COCO's own figures count `max_detections` = 100 per image and class. Detections of one image with equal
/// scores rank in the order given.
pub fn evaluate(
    truths: &[GroundTruth],
    detections: &[Detection],
    max_detections: usize,
) -> CocoSummary {
    let classes = match_all(truths, detections, max_detections.max(100));
    let (best_confidence, best_f1) = best_confidence(classes.values().map(Vec::as_slice));
    // With no detection at all pycocotools isn't asked, and everything is 0.
    let empty = if detections.is_empty() { 0.0 } else { -1.0 };
    let figures = |limit: usize, area: usize| -> Figures {
        let curves: Vec<Curve> = classes
            .values()
            .filter_map(|images| curve(images, area, limit))
            .collect();
        Figures { curves, empty }
    };
    let [all, small, medium, large]: [Figures; AREAS] =
        std::array::from_fn(|area| figures(max_detections, area));
    CocoSummary {
        max_detections,
        ap: all.precision(0..THRESHOLDS),
        ap50: all.precision(0..1),
        ap75: all.precision(5..6),
        ap_small: small.precision(0..THRESHOLDS),
        ap_medium: medium.precision(0..THRESHOLDS),
        ap_large: large.precision(0..THRESHOLDS),
        ar1: figures(1, 0).recall(),
        ar10: figures(10, 0).recall(),
        ar100: figures(100, 0).recall(),
        ar: all.recall(),
        ar_small: small.recall(),
        ar_medium: medium.recall(),
        ar_large: large.recall(),
        best_confidence,
        best_f1,
    }
}

/// The curves of the classes that have boxes.
struct Figures {
    curves: Vec<Curve>,
    empty: f64,
}

impl Figures {
    fn precision(&self, thresholds: std::ops::Range<usize>) -> f64 {
        self.mean(|curve| {
            curve.precision[thresholds.clone()].iter().sum::<f64>() / thresholds.len() as f64
        })
    }

    fn recall(&self) -> f64 {
        self.mean(|curve| curve.recall.iter().sum::<f64>() / THRESHOLDS as f64)
    }

    fn mean(&self, figure: impl Fn(&Curve) -> f64) -> f64 {
        if self.curves.is_empty() || self.empty == 0.0 {
            return self.empty;
        }
        self.curves.iter().map(figure).sum::<f64>() / self.curves.len() as f64
    }
}

/// One class in one image.
#[derive(Default)]
struct Pair<'a> {
    truths: Vec<&'a GroundTruth>,
    detections: Vec<&'a Detection>,
}

/// For each class its images in order of their ids.
fn match_all(
    truths: &[GroundTruth],
    detections: &[Detection],
    limit: usize,
) -> BTreeMap<usize, Vec<Matches>> {
    let mut pairs: BTreeMap<(usize, usize), Pair> = BTreeMap::new();
    for truth in truths {
        pairs
            .entry((truth.class, truth.image_id))
            .or_default()
            .truths
            .push(truth);
    }
    for detection in detections {
        pairs
            .entry((detection.class, detection.image_id))
            .or_default()
            .detections
            .push(detection);
    }
    let mut classes: BTreeMap<usize, Vec<Matches>> = BTreeMap::new();
    for ((class, _), pair) in pairs {
        let matches = match_image(&pair.truths, &pair.detections, limit);
        classes.entry(class).or_default().push(matches);
    }
    classes
}

#[cfg(test)]
mod tests;
