//! The loss of the detector: box overlap, objectness, classes, and near the end the boxes' raw outputs.

use tch::{Kind, Reduction, Tensor};

use super::assign::{Assignment, Predictions, Targets, assign};
use crate::dist::Collective;
use crate::loss::LossItems;
use crate::model::{AnchorGrid, HeadOutputs, STRIDES, decode_boxes};

const BOX_WEIGHT: f64 = 5.0;
const UNION_EPSILON: f64 = 1e-16;
const SIDE_EPSILON: f64 = 1e-8;

/// The loss.
#[derive(Debug, Clone, Copy, Default)]
pub struct YoloxLoss {
    /// Whether the boxes' raw outputs are compared too, as in the epochs without mosaics.
    pub with_l1: bool,
    /// Processes whose batches are one batch: each computes its share of that one's loss.
    pub group: Option<&'static dyn Collective>,
}

impl YoloxLoss {
    /// As [`Loss::compute`](crate::loss::Loss::compute).
    #[must_use]
    pub fn compute(&self, outputs: &HeadOutputs, targets: &Tensor) -> LossItems {
        let levels = &outputs.main;
        let grid = AnchorGrid::of(levels);
        let outputs = Tensor::cat(&levels.each_ref().map(|level| level.flatten(2, 3)), 2)
            .to_kind(Kind::Float);
        let classes = outputs.size()[1] - 5;
        let parts = outputs.split_with_sizes([4, 1, classes], 1);
        let boxes = decode_boxes(&parts[0], &grid);
        let targets = on_canvas(targets, &levels[0]);
        let assignment = assign(
            &grid,
            &Predictions {
                boxes: &boxes.detach(),
                objectness: &parts[1].detach(),
                classes: &parts[2].detach(),
            },
            &targets,
        );
        let count = self.positives(&assignment);
        let truth = at(&targets.boxes, &assignment.image, &assignment.row);
        let of_positives =
            |all: &Tensor| at(&all.transpose(1, 2), &assignment.image, &assignment.anchor);

        let iou = box_loss(&of_positives(&boxes), &truth) / &count * BOX_WEIGHT;
        let object = parts[1].squeeze_dim(1).zeros_like().index_put(
            &[Some(&assignment.image), Some(&assignment.anchor)],
            &assignment.iou.ones_like(),
            false,
        );
        let obj = cross_entropy(&parts[1].squeeze_dim(1), &object) / &count;
        let class = at(&targets.classes, &assignment.image, &assignment.row);
        let labels = of_positives(&parts[2]).zeros_like().scatter(
            1,
            &class.unsqueeze(1),
            &assignment.iou.unsqueeze(1),
        );
        let cls = cross_entropy(&of_positives(&parts[2]), &labels) / &count;
        let l1 = if self.with_l1 {
            l1_loss(&of_positives(&parts[0]), &truth, &grid, &assignment) / &count
        } else {
            count.zeros_like()
        };
        LossItems {
            total: &iou + &obj + &cls + &l1,
            parts: [iou, obj, cls, l1].iter().map(Tensor::detach).collect(),
        }
    }

    /// Number of anchors with a target, of all processes; at least 1.
    fn positives(&self, assignment: &Assignment) -> Tensor {
        let count = assignment.iou.ones_like().sum(Kind::Float);
        if let Some(group) = self.group {
            // As tch's own operations: the loss has no other way to fail.
            let summed = group.all_reduce_sum(&count);
            summed.unwrap_or_else(|error| panic!("{error}"));
        }
        count.clamp_min(1.0)
    }
}

/// Brings the targets to pixels; the finest level tells the canvas.
pub(super) fn on_canvas(targets: &Tensor, finest: &Tensor) -> Targets {
    let cells = finest.size();
    #[expect(clippy::cast_precision_loss, reason = "an image's side")]
    let [height, width] = [cells[2], cells[3]].map(|cells| (cells * STRIDES[0]) as f32);
    let counts = targets
        .select(2, 0)
        .ge(0.0)
        .sum_dim_intlist(1, false, Kind::Int64);
    let counts = Vec::<i64>::try_from(counts).expect("a number for each image");
    let targets = targets.to_device(finest.device());
    let scale = Tensor::from_slice(&[width, height]).to_device(finest.device());
    let [first, last] = [1, 3].map(|corner| targets.narrow(2, corner, 2) * &scale);
    let sides = &last - &first;
    Targets {
        counts,
        classes: targets.select(2, 0).to_kind(Kind::Int64).clamp_min(0),
        boxes: Tensor::cat(&[first + &sides * 0.5, sides], 2),
    }
}

/// Entries of `[B, N, ..]` at these places of the first two dimensions.
fn at(all: &Tensor, image: &Tensor, place: &Tensor) -> Tensor {
    all.index(&[Some(image), Some(place)])
}

/// 1 - IoU², summed; boxes are `[P, 4]` as centre and sides.
fn box_loss(predicted: &Tensor, truth: &Tensor) -> Tensor {
    let edges = |boxes: &Tensor| {
        let parts = boxes.chunk(2, 1);
        let half = &parts[1] / 2.0;
        (&parts[0] - &half, &parts[0] + half)
    };
    let area = |boxes: &Tensor| boxes.select(1, 2) * boxes.select(1, 3);
    let ((low, high), (truth_low, truth_high)) = (edges(predicted), edges(truth));
    let sides = (high.minimum(&truth_high) - low.maximum(&truth_low)).clamp_min(0.0);
    let intersection = sides.select(1, 0) * sides.select(1, 1);
    let union = area(predicted) + area(truth) - &intersection + UNION_EPSILON;
    (1_f64 - (intersection / union).square()).sum(Kind::Float)
}

/// Distance of the raw outputs from those that would give the targets, summed.
fn l1_loss(raw: &Tensor, truth: &Tensor, grid: &AnchorGrid, assignment: &Assignment) -> Tensor {
    let strides = grid.strides.index_select(0, &assignment.anchor);
    let cells = grid.cells().index_select(0, &assignment.anchor);
    let parts = (truth / strides).chunk(2, 1);
    let wanted = Tensor::cat(&[&parts[0] - cells, (&parts[1] + SIDE_EPSILON).log()], 1);
    raw.l1_loss(&wanted, Reduction::Sum)
}

fn cross_entropy(logits: &Tensor, labels: &Tensor) -> Tensor {
    logits.binary_cross_entropy_with_logits::<Tensor>(labels, None, None, Reduction::Sum)
}
