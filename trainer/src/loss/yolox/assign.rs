//! SimOTA, simplified optimal-transport assignment (Ge et al., "YOLOX", 2021): which anchor learns which target.

use tch::{Kind, Tensor};

use crate::model::AnchorGrid;

/// Half the side of the square about a target's centre whose anchors may learn it, in cells.
const CENTRE_RADIUS: f64 = 1.5;
/// Anchors whose overlaps decide how many learn a target, and the most that do.
const TOP_ANCHORS: i64 = 10;
/// Weight of the boxes in the cost of a match, beside the classes.
const BOX_WEIGHT: f64 = 3.0;
/// Cost of an anchor that lies near another target than this one.
const FAR: f64 = 1e6;
const EPSILON: f64 = 1e-8;

/// What the network said, all in single precision and without gradient.
pub(super) struct Predictions<'a> {
    /// Centre and sides in pixels, `[B, 4, A]`.
    pub(super) boxes: &'a Tensor,
    /// Logits, `[B, 1, A]`.
    pub(super) objectness: &'a Tensor,
    /// Logits, `[B, C, A]`.
    pub(super) classes: &'a Tensor,
}

/// Ground truth on the canvas.
pub(super) struct Targets {
    /// Number of each image's targets, which are its first rows.
    pub(super) counts: Vec<i64>,
    /// Class per row, `[B, M]`.
    pub(super) classes: Tensor,
    /// Centre and sides in pixels, `[B, M, 4]`.
    pub(super) boxes: Tensor,
}

/// The anchors that learn a target, P of them in order of image and anchor.
#[derive(Debug)]
pub(super) struct Assignment {
    /// Of the anchor, `[P]`.
    pub(super) image: Tensor,
    /// Number of the anchor, `[P]`.
    pub(super) anchor: Tensor,
    /// Row of its target among the image's, `[P]`.
    pub(super) row: Tensor,
    /// Overlap of its box with the target, `[P]`.
    pub(super) iou: Tensor,
}

/// Gives each target the anchors near its centre that fit it best: as many as their overlaps sum to. Takes no part
/// in the gradient.
pub(super) fn assign(
    grid: &AnchorGrid,
    predictions: &Predictions<'_>,
    targets: &Targets,
) -> Assignment {
    tch::no_grad(|| {
        let near = near_centre(grid, targets);
        let candidates = near.any_dim(1, false);
        let places = candidates.nonzero();
        let counts = Vec::<i64>::try_from(candidates.sum_dim_intlist(1, false, Kind::Int64))
            .expect("a number for each image");
        let (mut rows, mut overlaps) = (vec![], vec![]);
        let mut first = 0;
        for (image, count) in (0..).zip(counts) {
            if count == 0 {
                continue;
            }
            let anchors = places.narrow(0, first, count).select(1, 1);
            let (row, iou) = match_image(&near, predictions, targets, image, &anchors);
            rows.push(row);
            overlaps.push(iou);
            first += count;
        }
        if rows.is_empty() {
            let none = places.select(1, 0);
            return Assignment {
                image: none.shallow_clone(),
                anchor: none.shallow_clone(),
                iou: none.to_kind(Kind::Float),
                row: none,
            };
        }
        let (row, iou) = (Tensor::cat(&rows, 0), Tensor::cat(&overlaps, 0));
        let matched = row.ge(0).nonzero().squeeze_dim(1);
        let places = places.index_select(0, &matched);
        Assignment {
            image: places.select(1, 0),
            anchor: places.select(1, 1),
            row: row.index_select(0, &matched),
            iou: iou.index_select(0, &matched),
        }
    })
}

/// Whether an anchor's centre lies within the square about a target's, `[B, M, A]`; never for rows of padding.
fn near_centre(grid: &AnchorGrid, targets: &Targets) -> Tensor {
    let reach = grid.strides.squeeze_dim(1) * CENTRE_RADIUS;
    let axis = |index: i64| {
        let points = grid.points.select(1, index);
        let centre = targets.boxes.select(2, index).unsqueeze(-1);
        let mut after_start = (&points - (&centre - &reach)).gt(0.0);
        after_start.logical_and_(&((&centre + &reach) - &points).gt(0.0))
    };
    let rows = Tensor::arange(
        targets.classes.size()[1],
        (Kind::Int64, grid.points.device()),
    );
    let counts = Tensor::from_slice(&targets.counts).to_device(grid.points.device());
    let is_target = rows.unsqueeze(0).lt_tensor(&counts.unsqueeze(1));
    axis(0)
        .logical_and_(&axis(1))
        .logical_and_(&is_target.unsqueeze(-1))
}

/// Row of the target that each candidate learns, -1 for none, and its overlap, both `[N]`.
fn match_image(
    near: &Tensor,
    predictions: &Predictions<'_>,
    targets: &Targets,
    image: i64,
    anchors: &Tensor,
) -> (Tensor, Tensor) {
    let count = targets.counts[usize::try_from(image).expect("a position")];
    let of_image = |all: &Tensor| all.select(0, image);
    let of_anchors = |all: &Tensor| of_image(all).index_select(1, anchors);
    let truth = of_image(&targets.boxes).narrow(0, 0, count);
    let classes = of_image(&targets.classes).narrow(0, 0, count);
    // All matrices are [targets, candidates].
    let iou = overlap(&truth, &of_anchors(predictions.boxes));
    let class_cost = class_cost(
        &of_anchors(predictions.classes),
        &of_anchors(predictions.objectness),
        &classes,
    );
    let is_far = of_image(near)
        .narrow(0, 0, count)
        .index_select(1, anchors)
        .logical_not();
    let cost = class_cost - (&iou + EPSILON).log() * BOX_WEIGHT + is_far.to_kind(Kind::Float) * FAR;

    let chosen = cheapest(&cost, &iou);
    let contested = chosen.sum_dim_intlist(0, true, Kind::Int64).gt(1);
    let winner = chosen
        .zeros_like()
        .scatter_value_(0, &cost.argmin(0, true), 1);
    let chosen = winner.where_self(&contested, &chosen);
    let row = chosen.to_kind(Kind::Uint8).argmax(0, false);
    let is_matched = chosen.any_dim(0, false);
    let iou = (iou * chosen.to_kind(Kind::Float)).sum_dim_intlist(0, false, Kind::Float);
    (row.where_scalarother(&is_matched, -1), iou)
}

/// The cheapest candidates of each target: as many as the best overlaps sum to, at least one.
fn cheapest(cost: &Tensor, iou: &Tensor) -> Tensor {
    let most = TOP_ANCHORS.min(cost.size()[1]);
    let (best, _) = iou.topk(most, 1, true, true);
    let wanted = best
        .sum_dim_intlist(1, true, Kind::Float)
        .to_kind(Kind::Int64)
        .clamp_min(1);
    let (_, places) = cost.topk(most, 1, false, true);
    let ranks = Tensor::arange(most, (Kind::Int64, cost.device())).unsqueeze(0);
    cost.zeros_like()
        .to_kind(Kind::Bool)
        .scatter_(1, &places, &ranks.lt_tensor(&wanted))
}

/// Binary cross-entropy of the targets' classes with the candidates' probabilities, summed over the classes.
///
/// `logits` is `[C, N]`, `objectness` `[1, N]`, `classes` `[M]`. A probability is the root of class and objectness.
fn class_cost(logits: &Tensor, objectness: &Tensor, classes: &Tensor) -> Tensor {
    // As PyTorch's loss, which takes no logarithm for less than -100.
    const LOWEST: f64 = -100.0;
    let probability = (logits.sigmoid() * objectness.sigmoid()).sqrt();
    let yes = probability.log().clamp_min(LOWEST);
    let no = (1_f64 - &probability).log().clamp_min(LOWEST);
    let all_no = no.sum_dim_intlist(0, true, Kind::Float);
    no.index_select(0, classes) - yes.index_select(0, classes) - all_no
}

/// Intersection over union of boxes `[M, 4]` with boxes `[4, N]`, all as centre and sides.
fn overlap(truth: &Tensor, predicted: &Tensor) -> Tensor {
    let axis = |index: i64| {
        let edges = |centre: Tensor, side: Tensor| {
            let half = side / 2.0;
            (&centre - &half, centre + half)
        };
        let (low, high) = edges(
            truth.select(1, index).unsqueeze(1),
            truth.select(1, index + 2).unsqueeze(1),
        );
        let (other_low, other_high) = edges(
            predicted.select(0, index).unsqueeze(0),
            predicted.select(0, index + 2).unsqueeze(0),
        );
        (high.minimum(&other_high) - low.maximum(&other_low)).clamp_min_(0.0)
    };
    let area = |width: Tensor, height: Tensor| width * height;
    let intersection = axis(0) * axis(1);
    let union = area(truth.select(1, 2), truth.select(1, 3)).unsqueeze(1)
        + area(predicted.select(0, 2), predicted.select(0, 3)).unsqueeze(0)
        - &intersection;
    intersection / union
}
