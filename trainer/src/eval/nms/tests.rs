use fastrand::Rng;

use super::*;
use crate::data::{Letterbox, Padding};

fn info(image_id: usize, original: (u32, u32)) -> ImageInfo {
    ImageInfo {
        image_id,
        original,
        letterbox: Letterbox::fit(original, (100, 100), Padding::TopLeft),
    }
}

/// `[4 + classes, A]` of boxes with their scores per class.
fn predictions(boxes: &[([f32; 4], &[f32])]) -> Vec<f32> {
    let classes = boxes[0].1.len();
    let corners = (0..4).flat_map(|row| boxes.iter().map(move |(corners, _)| corners[row]));
    let scores = (0..classes).flat_map(|class| boxes.iter().map(move |(_, scores)| scores[class]));
    corners.chain(scores).collect()
}

#[test]
fn overlaps_go_within_a_class_only() {
    let near = predictions(&[
        ([0.0, 0.0, 10.0, 10.0], &[0.9, 0.0]),
        ([0.0, 0.0, 10.0, 9.0], &[0.8, 0.5]),
        ([50.0, 50.0, 60.0, 60.0], &[0.7, 0.0009]),
    ]);
    let found = suppress(&near, 2, &[info(4, (100, 100))], &NmsConfig::default());
    let brief: Vec<(usize, f32)> = found
        .iter()
        .map(|detection| (detection.class, detection.score))
        .collect();
    assert_eq!(brief, [(0, 0.9), (0, 0.7), (1, 0.5)]);
    assert!(found.iter().all(|detection| detection.image_id == 4));
    assert_eq!(found[2].corners, [0.0, 0.0, 10.0, 9.0]);
}

#[test]
fn the_best_class_alone_counts_where_that_is_asked() {
    let boxes = predictions(&[
        ([0.0, 0.0, 10.0, 10.0], &[0.4, 0.9, 0.1]),
        ([50.0, 50.0, 60.0, 60.0], &[0.7, 0.7, 0.2]),
        ([70.0, 70.0, 80.0, 80.0], &[0.0, 0.0, 0.3]),
    ]);
    let found = |labels| {
        let config = NmsConfig {
            labels,
            ..NmsConfig::default()
        };
        let found = suppress(&boxes, 3, &[info(0, (100, 100))], &config);
        found.iter().map(|it| it.class).collect::<Vec<_>>()
    };
    assert_eq!(found(Labels::Best), [1, 0, 2]);
    assert_eq!(found(Labels::All).len(), 7);
}

#[test]
fn boxes_come_back_in_original_pixels_and_clipped() {
    let one = predictions(&[
        ([-5.0, 10.0, 40.0, 60.0], &[0.9]),
        ([90.0, 60.0, 95.0, 70.0], &[0.8]),
    ]);
    let found = suppress(&one, 1, &[info(0, (200, 100))], &NmsConfig::default());
    // The second lies wholly below the image, in the padding.
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].corners, [0.0, 20.0, 80.0, 100.0]);
}

#[test]
fn what_is_not_finite_is_passed_over() {
    let bad = predictions(&[
        ([0.0, 0.0, f32::NAN, 10.0], &[0.9]),
        ([0.0, 0.0, f32::INFINITY, 10.0], &[0.9]),
        ([0.0, 0.0, 10.0, 10.0], &[f32::NAN]),
        ([0.0, 0.0, 10.0, 10.0], &[f32::INFINITY]),
        ([0.0, 0.0, 10.0, 10.0], &[0.3]),
    ]);
    let found = suppress(&bad, 1, &[info(0, (100, 100))], &NmsConfig::default());
    assert_eq!(
        found
            .iter()
            .map(|detection| detection.score)
            .collect::<Vec<_>>(),
        [0.3]
    );
    assert!(suppress(&[], 1, &[], &NmsConfig::default()).is_empty());
}

/// Suppression as the definition says it: per class, every pair, then the best over all classes.
fn by_definition(
    image: &[f32],
    classes: usize,
    info: &ImageInfo,
    config: &NmsConfig,
) -> Vec<Detection> {
    let anchors = image.len() / (4 + classes);
    let mut scored: Vec<(f32, usize, usize)> = (0..anchors * classes)
        .map(|index| (image[4 * anchors + index], index % anchors, index / anchors))
        .filter(|(score, _, _)| *score > config.confidence)
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0));
    scored.truncate(config.max_candidates);
    let in_original = |(score, anchor, class): (f32, usize, usize)| {
        let corners = [0, 1, 2, 3].map(|row| image[row * anchors + anchor]);
        Some((score, class, Rectangle::in_original(corners, info)?))
    };
    let all: Vec<(f32, usize, Rectangle)> = scored.into_iter().filter_map(in_original).collect();
    let mut kept = Vec::new();
    for class in 0..classes {
        let mut left: Vec<_> = all
            .iter()
            .filter(|candidate| candidate.1 == class)
            .copied()
            .collect();
        while !left.is_empty() {
            let best = left.remove(0);
            left.retain(|other| best.2.iou(&other.2) <= config.iou);
            kept.push(best);
        }
    }
    kept.sort_by(|a, b| b.0.total_cmp(&a.0));
    kept.truncate(config.max_detections);
    let detection = |(score, class, rectangle): (f32, usize, Rectangle)| Detection {
        image_id: info.image_id,
        class,
        score,
        corners: rectangle.corners,
    };
    kept.into_iter().map(detection).collect()
}

#[test]
fn the_short_cut_equals_the_definition() {
    let mut random = Rng::with_seed(11);
    for (max_candidates, max_detections) in [(30_000, 300), (400, 300), (100, 20)] {
        let config = NmsConfig {
            max_candidates,
            max_detections,
            ..NmsConfig::default()
        };
        let (classes, anchors, images) = (3, 300, 2);
        let mut batch = Vec::new();
        for _ in 0..images {
            let boxes: Vec<([f32; 4], Vec<f32>)> = (0..anchors)
                .map(|_| {
                    let [x, y] = [(); 2].map(|()| random.f32() * 90.0);
                    let [w, h] = [(); 2].map(|()| 5.0 + random.f32() * 40.0);
                    (
                        [x, y, x + w, y + h],
                        (0..classes).map(|_| random.f32()).collect(),
                    )
                })
                .collect();
            let boxes: Vec<_> = boxes
                .iter()
                .map(|(corners, scores)| (*corners, scores.as_slice()))
                .collect();
            batch.extend(predictions(&boxes));
        }
        let infos = [info(0, (150, 100)), info(1, (100, 100))];
        let length = batch.len() / images;
        let expected: Vec<Detection> = batch
            .chunks(length)
            .zip(&infos)
            .flat_map(|(image, info)| by_definition(image, classes, info, &config))
            .collect();
        assert!(expected.len() > 30);
        let found = suppress(&batch, classes, &infos, &config);
        assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(&expected) {
            assert_eq!(found, expected);
        }
    }
}
