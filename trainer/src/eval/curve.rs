//! Precision over recall of one class.
//!
//! Source: pycocotools `COCOeval.accumulate`.

use super::matching::{Fate, Matches, THRESHOLDS};

/// Recall levels 0, 0.01, ..., 1 at which precision is read.
const LEVELS: usize = 101;

/// The figures of one class at each threshold.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Curve {
    /// Mean over the recall levels of the precision there or further right.
    pub precision: [f64; THRESHOLDS],
    /// Part of the boxes that was found.
    pub recall: [f64; THRESHOLDS],
}

/// The curve over some images, in order of their ids, with at most `limit` detections of each.
///
/// `None` when there is no box in this range of areas, so that nothing can be found.
pub(super) fn curve(images: &[Matches], area: usize, limit: usize) -> Option<Curve> {
    let boxes: usize = images.iter().map(|image| image.boxes[area]).sum();
    if boxes == 0 {
        return None;
    }
    let mut found: Vec<(f32, Fate)> = images
        .iter()
        .flat_map(|image| {
            image
                .scores
                .iter()
                .copied()
                .zip(image.fates[area].iter().copied())
                .take(limit)
        })
        .collect();
    // Stable: equal scores stay in order of the images.
    found.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut curve = Curve {
        precision: [0.0; THRESHOLDS],
        recall: [0.0; THRESHOLDS],
    };
    let mut points = Vec::with_capacity(found.len());
    for index in 0..THRESHOLDS {
        points.clear();
        points.extend(sweep(&found, index, boxes));
        curve.recall[index] = points.last().map_or(0.0, |point| point.recall);
        curve.precision[index] = mean_precision(&mut points);
    }
    Some(curve)
}

struct Point {
    recall: f64,
    precision: f64,
}

/// Recall and precision after each detection.
fn sweep(found: &[(f32, Fate)], index: usize, boxes: usize) -> impl Iterator<Item = Point> {
    let (mut right, mut wrong) = (0.0, 0.0);
    found.iter().map(move |(_, fate)| {
        let is = |bits: u16| bits >> index & 1 == 1;
        if !is(fate.ignored) {
            *(if is(fate.matched) {
                &mut right
            } else {
                &mut wrong
            }) += 1.0;
        }
        Point {
            recall: right / boxes as f64,
            precision: right / (wrong + right + f64::EPSILON),
        }
    })
}

fn mean_precision(points: &mut [Point]) -> f64 {
    let mut best = 0.0_f64;
    for point in points.iter_mut().rev() {
        best = best.max(point.precision);
        point.precision = best;
    }
    let mut position = 0;
    let mut sum = 0.0;
    for level in 0..LEVELS {
        // As numpy.linspace(0, 1, 101) rounds it.
        let level = level as f64 * (1.0 / (LEVELS - 1) as f64);
        position += points[position..].partition_point(|point| point.recall < level);
        sum += points.get(position).map_or(0.0, |point| point.precision);
    }
    sum / LEVELS as f64
}
