//! The loss of the detector: class, box and distance distribution.

use tch::{Kind, Reduction, Tensor};

use super::assign::{Assignment, MAX_DISTANCE, Targets, assign};
use super::boxes::{Boxes, complete_iou};
use crate::dist::Collective;
use crate::loss::LossItems;
use crate::model::{AnchorGrid, HeadOutputs, REG_MAX, STRIDES, expected_distance};

const BOX_WEIGHT: f64 = 7.5;
const CLASS_WEIGHT: f64 = 0.5;
const DISTRIBUTION_WEIGHT: f64 = 1.5;

/// The loss with its weights.
#[derive(Debug, Clone, Copy)]
pub struct Yolo9Loss {
    /// Weight of the auxiliary head's loss, LibreYOLO's `aux_weight`.
    pub aux_weight: f64,
    /// Processes whose batches are one batch: each computes its share of that one's loss.
    pub group: Option<&'static dyn Collective>,
}

impl Default for Yolo9Loss {
    fn default() -> Self {
        Self {
            aux_weight: 0.25,
            group: None,
        }
    }
}

impl Yolo9Loss {
    /// As [`Loss::compute`](crate::loss::Loss::compute).
    #[must_use]
    pub fn compute(&self, outputs: &HeadOutputs, targets: &Tensor) -> LossItems {
        let main = head_loss(&outputs.main, targets, self.group);
        let Some(levels) = &outputs.aux else {
            return main;
        };
        let aux = head_loss(levels, targets, self.group);
        main.plus(&aux.scaled(self.aux_weight))
    }
}

fn head_loss(
    levels: &[Tensor; 3],
    targets: &Tensor,
    group: Option<&'static dyn Collective>,
) -> LossItems {
    let grid = AnchorGrid::of(levels);
    let outputs =
        Tensor::cat(&levels.each_ref().map(|level| level.flatten(2, 3)), 2).to_kind(Kind::Float);
    let classes = outputs.size()[1] - 4 * REG_MAX;
    let parts = outputs.split_with_sizes([4 * REG_MAX, classes], 1);
    let (distances, class_logits) = (parts[0].unflatten(1, [4, REG_MAX]), &parts[1]);
    let targets = on_canvas(targets, &levels[0]);
    let assignment = assign(
        &grid,
        &class_logits.detach(),
        &all_boxes(&grid, &distances),
        &targets,
    );

    let label_sum = assignment.labels.sum(Kind::Float);
    if let Some(group) = group {
        // As tch's own operations: the loss has no other way to fail.
        let summed = group.all_reduce_sum(&label_sum);
        summed.unwrap_or_else(|error| panic!("{error}"));
    }
    let label_sum = label_sum.clamp_min(1.0);
    let cls = class_logits.binary_cross_entropy_with_logits::<Tensor>(
        &assignment.labels,
        None,
        None,
        Reduction::Sum,
    ) / &label_sum;
    let (box_, dfl) = box_losses(&grid, &distances, &assignment, &targets);
    let (box_, dfl) = (
        box_ / &label_sum * BOX_WEIGHT,
        dfl / &label_sum * DISTRIBUTION_WEIGHT,
    );
    let cls = cls * CLASS_WEIGHT;
    LossItems {
        total: &box_ + &dfl + &cls,
        parts: [box_, cls, dfl].iter().map(Tensor::detach).collect(),
    }
}

/// Brings the targets to pixels; the finest level tells the canvas.
fn on_canvas(targets: &Tensor, finest: &Tensor) -> Targets {
    let cells = finest.size();
    #[expect(clippy::cast_precision_loss, reason = "an image's side")]
    let [height, width] = [cells[2], cells[3]].map(|cells| (cells * STRIDES[0]) as f32);
    let targets = targets.to_device(finest.device());
    let scale = Tensor::from_slice(&[width, height, width, height]).to_device(finest.device());
    Targets {
        classes: targets.select(2, 0).to_kind(Kind::Int64),
        boxes: targets.narrow(2, 1, 4) * scale,
    }
}

/// The boxes of all anchors in pixels, `[B, 4, A]`, for the assignment: without gradient.
fn all_boxes(grid: &AnchorGrid, distances: &Tensor) -> Tensor {
    tch::no_grad(|| {
        let (points, strides) = (grid.points.transpose(0, 1), grid.strides.transpose(0, 1));
        let sides = (expected_distance(distances, 2) * strides).chunk(2, 1);
        Tensor::cat(&[&points - &sides[0], &points + &sides[1]], 1)
    })
}

/// Box and distribution loss of the anchors with a target, summed with their labels as weights.
/// Without any, both are 0 with gradients of 0.
fn box_losses(
    grid: &AnchorGrid,
    distances: &Tensor,
    assignment: &Assignment,
    targets: &Targets,
) -> (Tensor, Tensor) {
    let positive = assignment.positive.nonzero();
    let (image, anchor) = (positive.select(1, 0), positive.select(1, 1));
    let row = assignment.target.index(&[Some(&image), Some(&anchor)]);
    let weight = assignment
        .labels
        .sum_dim_intlist(1, false, Kind::Float)
        .index(&[Some(&image), Some(&anchor)]);

    // From here on [P, ...], in cells.
    let strides = grid.strides.index_select(0, &anchor);
    let points = grid.points.index_select(0, &anchor) / &strides;
    let truth = targets.boxes.index(&[Some(&image), Some(&row)]) / &strides;
    let logits = distances
        .permute([0, 3, 1, 2])
        .index(&[Some(&image), Some(&anchor)]);

    let sides = expected_distance(&logits, 2).chunk(2, 1);
    let predicted = Tensor::cat(&[&points - &sides[0], &points + &sides[1]], 1);
    let iou = complete_iou(&Boxes::unbind(&predicted, 1), &Boxes::unbind(&truth, 1));
    let box_loss = ((1_f64 - iou) * &weight).sum(Kind::Float);

    let corners = truth.chunk(2, 1);
    let wanted =
        Tensor::cat(&[&points - &corners[0], &corners[1] - &points], 1).clamp_(0.0, MAX_DISTANCE);
    let distribution_loss = (distribution_loss(&logits, &wanted).mean_dim(1, false, Kind::Float)
        * &weight)
        .sum(Kind::Float);
    (box_loss, distribution_loss)
}

/// Distribution focal loss (Li et al., "Generalized Focal Loss", 2020): cross-entropy with the two
/// bins around each distance, weighted by how near they are.
///
/// `logits` is `[P, 4, bins]`, `distances` is `[P, 4]` in cells; the result is `[P, 4]`.
fn distribution_loss(logits: &Tensor, distances: &Tensor) -> Tensor {
    let log_probabilities = logits.log_softmax(-1, Kind::Float);
    let below = distances.floor();
    let share_above = distances - &below;
    let bin = below.to_kind(Kind::Int64).unsqueeze(-1);
    let cost = |bin: &Tensor| -log_probabilities.gather(-1, bin, false).squeeze_dim(-1);
    cost(&bin) * (1.0 - &share_above) + cost(&(&bin + 1)) * share_above
}
