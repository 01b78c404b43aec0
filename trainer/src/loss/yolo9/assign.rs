//! Task-aligned assignment (Feng et al., "TOOD", 2021): which anchor learns which target.

use tch::{Kind, Tensor};

use super::boxes::{Boxes, complete_iou};
use crate::model::{AnchorGrid, REG_MAX};

/// Anchors that learn a target, at most.
const TOP_ANCHORS: i64 = 10;
/// Longest distance from an anchor to a side, in cells, that the bins can express.
pub(super) const MAX_DISTANCE: f64 = REG_MAX as f64 - 1.01;
const METRIC_EPSILON: f64 = 1e-9;

/// What each anchor is to learn.
#[derive(Debug)]
pub(super) struct Assignment {
    /// How well the assigned target's anchor is aligned, as a label per class, `[B, C, A]`; 0 for
    /// anchors without one.
    pub(super) labels: Tensor,
    /// Whether the anchor has a target, `[B, A]`.
    pub(super) positive: Tensor,
    /// Row of the target among its image's, `[B, A]`; 0 where there is none.
    pub(super) target: Tensor,
}

/// Ground truth on the canvas.
#[derive(Debug)]
pub(super) struct Targets {
    /// Class per row, negative where there is no target, `[B, M]`.
    pub(super) classes: Tensor,
    /// x1, y1, x2, y2 in pixels, `[B, M, 4]`.
    pub(super) boxes: Tensor,
}

/// Assigns targets to anchors by how well the predictions already fit them.
///
/// `class_logits` is `[B, C, A]`, `boxes` is `[B, 4, A]` in pixels. Takes no part in the gradient.
pub(super) fn assign(
    grid: &AnchorGrid,
    class_logits: &Tensor,
    boxes: &Tensor,
    targets: &Targets,
) -> Assignment {
    tch::no_grad(|| {
        if targets.classes.size()[1] == 0 {
            return nothing(class_logits);
        }
        let truth = Boxes::unbind(&targets.boxes, -1).unsqueeze(-1);
        let predicted = Boxes::unbind(boxes, 1).unsqueeze(1);
        // All matrices are [B, M, A].
        let iou = complete_iou(&truth, &predicted).clamp_(0.0, 1.0);
        let classes = targets.classes.clamp_min(0);
        let metric = alignment(&iou, &class_logits.sigmoid(), &classes);
        let is_target = targets.classes.ge(0).unsqueeze(-1);
        let candidates = within_reach(grid, &truth).logical_and_(&is_target);
        let chosen = best_anchors(&metric, &candidates).logical_or_(&last_resort(
            &metric,
            &candidates,
            &is_target,
        ));
        let chosen = one_target_each(chosen, &iou);

        let target = chosen.to_kind(Kind::Uint8).argmax(1, false);
        let positive = chosen.any_dim(1, false);
        let weight = soft_label(&(metric * &chosen), &(iou * &chosen), &target);
        let class = classes.gather(1, &target, false);
        let labels =
            class_logits
                .zeros_like()
                .scatter_(1, &class.unsqueeze(1), &weight.unsqueeze(1));
        Assignment {
            labels,
            positive,
            target,
        }
    })
}

fn nothing(class_logits: &Tensor) -> Assignment {
    let per_anchor = class_logits.select(1, 0);
    Assignment {
        labels: class_logits.zeros_like(),
        positive: per_anchor.zeros_like().to_kind(Kind::Bool),
        target: per_anchor.zeros_like().to_kind(Kind::Int64),
    }
}

/// iou⁶ · √probability of the target's class.
fn alignment(iou: &Tensor, probabilities: &Tensor, classes: &Tensor) -> Tensor {
    let size = iou.size();
    let rows = classes
        .unsqueeze(-1)
        .expand([size[0], size[1], size[2]], false);
    let square = iou.square();
    let sixth = &square * &square * &square;
    sixth * probabilities.gather(1, &rows, false).sqrt_()
}

/// Anchors inside the target and near enough to all its sides.
fn within_reach(grid: &AnchorGrid, truth: &Boxes) -> Tensor {
    let (x, y) = (grid.points.select(1, 0), grid.points.select(1, 1));
    let reach = grid.strides.squeeze_dim(1) * MAX_DISTANCE;
    let (left, right) = (&x - &truth.x1, &truth.x2 - &x);
    let (top, bottom) = (&y - &truth.y1, &truth.y2 - &y);
    let nearest = left.minimum(&right).minimum(&top.minimum(&bottom));
    let farthest = left.maximum(&right).maximum(&top.maximum(&bottom));
    nearest.ge(0.0).logical_and_(&farthest.le_tensor(&reach))
}

/// The candidates with the best metric of each target.
fn best_anchors(metric: &Tensor, candidates: &Tensor) -> Tensor {
    let count = TOP_ANCHORS.min(metric.size()[2]);
    let (values, anchors) = (metric * candidates).topk(count, -1, true, false);
    candidates
        .zeros_like()
        .scatter_(-1, &anchors, &values.gt(0.0))
}

/// The best anchor of all for a target without any candidate that fits at all.
fn last_resort(metric: &Tensor, candidates: &Tensor, is_target: &Tensor) -> Tensor {
    let has_anchor = (metric * candidates).gt(0.0).any_dim(-1, true);
    let (value, anchor) = metric.max_dim(-1, true);
    let wanted = value
        .gt(0.0)
        .logical_and_(&has_anchor.logical_not())
        .logical_and_(is_target);
    candidates.zeros_like().scatter_(-1, &anchor, &wanted)
}

/// Leaves an anchor that several targets chose to the one it overlaps most.
fn one_target_each(chosen: Tensor, iou: &Tensor) -> Tensor {
    let contested = chosen.sum_dim_intlist(1, true, Kind::Int64).gt(1);
    let winner = (iou * &chosen).argmax(1, true);
    let winners = chosen.zeros_like().scatter_value_(1, &winner, 1);
    winners.where_self(&contested, &chosen)
}

/// The metric of each anchor's own target, rescaled so that a target's best anchor gets the
/// target's best IoU.
fn soft_label(metric: &Tensor, iou: &Tensor, target: &Tensor) -> Tensor {
    let best = |matrix: &Tensor| matrix.amax(-1, false).gather(1, target, false);
    let own = metric.gather(1, &target.unsqueeze(1), false).squeeze_dim(1);
    own / (best(metric) + METRIC_EPSILON) * best(iou)
}
