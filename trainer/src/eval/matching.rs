//! Which detection meets which box, for every IoU threshold and every range of areas.
//!
//! Source: pycocotools `COCOeval.evaluateImg`.

use super::detection::{Detection, GroundTruth, iou};

/// IoU thresholds 0.50, 0.55, ..., 0.95.
pub(super) const THRESHOLDS: usize = 10;
/// All areas, small, medium and large.
pub(super) const AREAS: usize = 4;

const SMALL: f64 = 32.0 * 32.0;
const MEDIUM: f64 = 96.0 * 96.0;
/// Smallest and largest area of each range, both included.
const RANGES: [(f64, f64); AREAS] = [(0.0, 1e10), (0.0, SMALL), (SMALL, MEDIUM), (MEDIUM, 1e10)];

/// The threshold of an index, with the rounding of `numpy.linspace(0.5, 0.95, 10)`.
pub(super) fn threshold(index: usize) -> f64 {
    if index + 1 == THRESHOLDS {
        0.95
    } else {
        index as f64 * ((0.95 - 0.5) / 9.0) + 0.5
    }
}

/// What became of one detection; a bit per threshold.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Fate {
    /// Met a box.
    pub matched: u16,
    /// Counts neither as right nor as wrong.
    pub ignored: u16,
}

/// One class in one image.
pub(super) struct Matches {
    /// Of the detections, falling.
    pub scores: Vec<f32>,
    /// Of the detections, for each range of areas.
    pub fates: [Vec<Fate>; AREAS],
    /// Boxes within each range of areas.
    pub boxes: [usize; AREAS],
}

/// Matches the detections of one class in one image, at most `limit` of them, the best.
///
/// By falling score each takes the free box it overlaps most, at least by the threshold; crowds, which are never taken, and
/// boxes outside the range of areas only when there is no other, and then the detection is ignored.
pub(super) fn match_image(
    truths: &[&GroundTruth],
    detections: &[&Detection],
    limit: usize,
) -> Matches {
    let mut order: Vec<&Detection> = detections.to_vec();
    order.sort_by(|a, b| b.score.total_cmp(&a.score));
    order.truncate(limit);
    let overlaps: Vec<Vec<f64>> = order
        .iter()
        .map(|detection| {
            truths
                .iter()
                .map(|truth| iou(detection.xywh(), truth))
                .collect()
        })
        .collect();
    let mut boxes = [0; AREAS];
    let fates = std::array::from_fn(|area| {
        let is_outside = |size: f64| size < RANGES[area].0 || size > RANGES[area].1;
        let counts = |truth: &GroundTruth| !truth.crowd && !is_outside(truth.area);
        let mut columns: Vec<usize> = (0..truths.len()).collect();
        columns.sort_by_key(|column| !counts(truths[*column]));
        boxes[area] = truths.iter().filter(|truth| counts(truth)).count();
        let inside = boxes[area];
        let mut fates: Vec<Fate> = order
            .iter()
            .map(|detection| {
                let [_, _, width, height] = detection.xywh();
                // Corrected below where it meets a box.
                Fate {
                    matched: 0,
                    ignored: if is_outside(width * height) {
                        u16::MAX
                    } else {
                        0
                    },
                }
            })
            .collect();
        for index in 0..THRESHOLDS {
            let columns = Columns {
                truths,
                order: &columns,
                inside,
            };
            columns.assign(&overlaps, index, &mut fates);
        }
        fates
    });
    Matches {
        scores: order.iter().map(|detection| detection.score).collect(),
        fates,
        boxes,
    }
}

/// The boxes in the order in which detections look at them.
struct Columns<'a> {
    truths: &'a [&'a GroundTruth],
    order: &'a [usize],
    /// The first so many count.
    inside: usize,
}

impl Columns<'_> {
    /// Assigns at one threshold.
    fn assign(&self, overlaps: &[Vec<f64>], index: usize, fates: &mut [Fate]) {
        let bit = 1 << index;
        let mut taken = vec![false; self.order.len()];
        for (overlaps, fate) in overlaps.iter().zip(fates) {
            let mut least = threshold(index).min(1.0 - 1e-10);
            let mut met = None;
            for (position, column) in self.order.iter().enumerate() {
                if taken[position] {
                    continue;
                }
                if position >= self.inside && met.is_some_and(|position| position < self.inside) {
                    break;
                }
                if overlaps[*column] >= least {
                    least = overlaps[*column];
                    met = Some(position);
                }
            }
            if let Some(position) = met {
                taken[position] = !self.truths[self.order[position]].crowd;
                fate.matched |= bit;
                if position < self.inside {
                    fate.ignored &= !bit;
                } else {
                    fate.ignored |= bit;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn truth(xywh: [f64; 4]) -> GroundTruth {
        GroundTruth {
            image_id: 0,
            class: 0,
            xywh,
            area: xywh[2] * xywh[3],
            crowd: false,
        }
    }

    fn detection(score: f32, corners: [f32; 4]) -> Detection {
        Detection {
            image_id: 0,
            class: 0,
            score,
            corners,
        }
    }

    #[test]
    fn the_better_detection_takes_the_box() {
        let truths = [truth([0.0, 0.0, 20.0, 20.0])];
        let found = [
            detection(0.5, [0.0, 0.0, 20.0, 20.0]),
            detection(0.9, [0.0, 0.0, 20.0, 16.0]),
        ];
        let matches = match_image(&truths.each_ref(), &found.each_ref(), 100);
        assert_eq!(matches.scores, [0.9, 0.5]);
        // IoU 0.8 is enough up to the threshold 0.8; above, the second takes the box.
        assert_eq!(matches.fates[0][0].matched, 0b000_0111_1111);
        assert_eq!(matches.fates[0][1].matched, 0b011_1000_0000);
        assert_eq!(matches.boxes, [1, 1, 0, 0]);
        // Small boxes are no matter of medium ones: what meets them is ignored there.
        assert_eq!(matches.fates[2][0].ignored & 0x3ff, 0x3ff);
    }

    #[test]
    fn a_crowd_takes_any_number_and_counts_none() {
        let crowd = GroundTruth {
            crowd: true,
            ..truth([0.0, 0.0, 100.0, 100.0])
        };
        let found = [
            detection(0.9, [0.0, 0.0, 20.0, 20.0]),
            detection(0.8, [50.0, 50.0, 70.0, 70.0]),
        ];
        let matches = match_image(&[&crowd], &found.each_ref(), 100);
        assert_eq!(matches.boxes, [0; AREAS]);
        for fate in &matches.fates[0] {
            assert_eq!((fate.matched, fate.ignored & 0x3ff), (0x3ff, 0x3ff));
        }
    }

    #[test]
    fn the_limit_keeps_the_best() {
        let found = [
            detection(0.1, [0.0; 4]),
            detection(0.3, [0.0; 4]),
            detection(0.2, [0.0; 4]),
        ];
        assert_eq!(match_image(&[], &found.each_ref(), 2).scores, [0.3, 0.2]);
    }
}
