//! The anchor-free, decoupled head: per level a tower for classes and one for boxes and objectness.

use tch::nn::ModuleT;
use tch::{Device, Tensor};

use super::blocks::Conv3;
use super::size::Layout;
use crate::model::conv::{Bias, Conv, Conv2d, Shape};
use crate::model::grid::{AnchorGrid, STRIDES};
use crate::model::variables::Scope;
use crate::onnx::{Graph, Layer, Value};

/// What classes and objectness of a fresh network are at first: a hundredth.
const PRIOR: f64 = 0.01;

#[derive(Debug)]
pub(super) struct Head {
    cls_convs: [[Conv3; 2]; 3],
    reg_convs: [[Conv3; 2]; 3],
    cls_preds: [Conv2d; 3],
    reg_preds: [Conv2d; 3],
    obj_preds: [Conv2d; 3],
    stems: [Conv; 3],
    classes: i64,
}

impl Head {
    pub(super) fn new(scope: &Scope<'_>, layout: Layout, classes: i64) -> Self {
        let hidden = 4 * layout.width;
        let indices = [0, 1, 2];
        let tower = |name: &str, level: usize| {
            let scope = scope / name / level;
            [0, 1].map(|i| Conv3::new(&(&scope / i), layout.kernel, hidden, hidden))
        };
        let output = |name: &str, level: usize, outputs, bias| {
            let shape = Shape::new(hidden, outputs, 1);
            Conv2d::new(&(scope / name / level), shape, bias)
        };
        let prior = Bias::At((PRIOR / (1.0 - PRIOR)).ln());
        Self {
            cls_convs: indices.map(|i| tower("cls_convs", i)),
            reg_convs: indices.map(|i| tower("reg_convs", i)),
            cls_preds: indices.map(|i| output("cls_preds", i, classes, prior)),
            reg_preds: indices.map(|i| output("reg_preds", i, 4, Bias::Drawn)),
            obj_preds: indices.map(|i| output("obj_preds", i, 1, prior)),
            stems: indices.map(|i| {
                let inputs = layout.width << (i + 2);
                Conv::new(&(scope / "stems" / i), inputs, hidden, 1)
            }),
            classes,
        }
    }

    /// Raw outputs `[B, 5 + classes, H, W]` per level: centre and logarithms of the sides in cells, then logits of
    /// objectness and of the classes.
    pub(super) fn forward(&self, maps: &[Tensor; 3], train: bool) -> [Tensor; 3] {
        [0, 1, 2].map(|i| {
            let x = self.stems[i].forward_t(&maps[i], train);
            let tower =
                |[first, second]: &[Conv3; 2]| second.forward_t(&first.forward_t(&x, train), train);
            let regression = tower(&self.reg_convs[i]);
            let outputs = [
                self.reg_preds[i].forward(&regression),
                self.obj_preds[i].forward(&regression),
                self.cls_preds[i].forward(&tower(&self.cls_convs[i])),
            ];
            Tensor::cat(&outputs, 1)
        })
    }

    /// Boxes x1, y1, x2, y2 in pixels, and of each class the probability that there is an object of it,
    /// `[B, 4 + classes, A]`.
    pub(super) fn decode(&self, levels: &[Tensor; 3]) -> Tensor {
        let flat = levels.each_ref().map(|level| level.flatten(2, 3));
        let parts = Tensor::cat(&flat, 2).split_with_sizes([4, 1, self.classes], 1);
        let boxes = decode_boxes(&parts[0], &AnchorGrid::of(levels)).chunk(2, 1);
        let (centre, half) = (&boxes[0], &boxes[1] / 2.0);
        let scores = parts[1].sigmoid() * parts[2].sigmoid();
        Tensor::cat(&[centre - &half, centre + &half, scores], 1)
    }

    /// As LibreYOLO exports it, for square images of this side: `[B, A, 5 + classes]`, centre and sides in pixels, then
    /// objectness and class probabilities.
    pub(super) fn export(&self, graph: &mut Graph, maps: &[Value; 3], side: i64) -> Value {
        let levels = [0, 1, 2].map(|i| {
            let x = self.stems[i].export(graph, &maps[i]);
            let tower = |graph: &mut Graph, [first, second]: &[Conv3; 2]| {
                let x = first.export(graph, &x);
                second.export(graph, &x)
            };
            let regression = tower(graph, &self.reg_convs[i]);
            let boxes = self.reg_preds[i].export(graph, &regression);
            let object = self.obj_preds[i].export(graph, &regression);
            let features = tower(graph, &self.cls_convs[i]);
            let classes = self.cls_preds[i].export(graph, &features);
            let level = graph.concatenate(&[&boxes, &object, &classes], 1);
            graph.reshape(&level, &[0, 5 + self.classes, -1])
        });
        let flat = graph.concatenate(&levels.each_ref(), 2);
        let [centres, sides, logits] = graph.split(&flat, 1, [2, 2, 1 + self.classes]);
        let cells = STRIDES.map(|stride| (side / stride, side / stride));
        let grid = AnchorGrid::new(cells, Device::Cpu);
        let corners = graph.floats(&grid.cells().transpose(0, 1).unsqueeze(0));
        let strides = graph.floats(&grid.strides.transpose(0, 1).unsqueeze(0));
        let centres = graph.add(&centres, &corners);
        let centres = graph.multiply(&centres, &strides);
        let sides = graph.exponential(&sides);
        let sides = graph.multiply(&sides, &strides);
        let probabilities = graph.sigmoid(&logits);
        let all = graph.concatenate(&[&centres, &sides, &probabilities], 1);
        graph.transpose(&all, &[0, 2, 1])
    }
}

/// Centre and sides in pixels of raw outputs, both `[B, 4, A]`.
pub(crate) fn decode_boxes(raw: &Tensor, grid: &AnchorGrid) -> Tensor {
    let (cells, strides) = (grid.cells().transpose(0, 1), grid.strides.transpose(0, 1));
    let parts = raw.chunk(2, 1);
    Tensor::cat(
        &[(&parts[0] + cells) * &strides, parts[1].exp() * &strides],
        1,
    )
}
