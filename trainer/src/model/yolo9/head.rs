//! The anchor-free, decoupled head: per level a tower for boxes and one for classes.

use tch::nn::ModuleT;
use tch::{Device, Kind, Tensor};

use crate::model::conv::{Bias, Conv, Conv2d, Shape};
use crate::model::grid::{AnchorGrid, STRIDES};
use crate::model::variables::Scope;
use crate::onnx::{Graph, Layer, Value};

/// Bins of the distribution over each side's distance, in cells.
pub const REG_MAX: i64 = 16;
const BOX_CHANNELS: i64 = 4 * REG_MAX;
const BOX_GROUPS: i64 = 4;
/// Hidden width of the box towers: the outputs', which no size's quarter of the channels exceeds.
const BOX_WIDTH: i64 = BOX_CHANNELS;
const BOX_BIAS: f64 = 1.0;
/// A prior of 4.5e-5 per class and anchor.
const CLASS_BIAS: f64 = -10.0;

/// Two convolutions and a linear output.
#[derive(Debug)]
struct Tower(Conv, Conv, Conv2d);

impl Tower {
    fn boxes(scope: &Scope<'_>, inputs: i64, hidden: i64) -> Self {
        let output = Shape {
            groups: BOX_GROUPS,
            ..Shape::new(hidden, BOX_CHANNELS, 1)
        };
        Self(
            Conv::new(&(scope / 0), inputs, hidden, 3),
            Conv::grouped(&(scope / 1), hidden, hidden, 3, BOX_GROUPS),
            Conv2d::new(&(scope / 2), output, Bias::At(BOX_BIAS)),
        )
    }

    fn classes(scope: &Scope<'_>, inputs: i64, hidden: i64, classes: i64) -> Self {
        Self(
            Conv::new(&(scope / 0), inputs, hidden, 3),
            Conv::new(&(scope / 1), hidden, hidden, 3),
            Conv2d::new(
                &(scope / 2),
                Shape::new(hidden, classes, 1),
                Bias::At(CLASS_BIAS),
            ),
        )
    }

    fn export(&self, graph: &mut Graph, x: &Value) -> Value {
        let x = self.0.export(graph, x);
        let x = self.1.export(graph, &x);
        self.2.export(graph, &x)
    }

    fn forward(&self, x: &Tensor, train: bool) -> Tensor {
        let x = self.0.forward_t(x, train);
        self.2.forward(&self.1.forward_t(&x, train))
    }
}

#[derive(Debug)]
pub(super) struct Detect {
    /// Box towers.
    cv2: [Tower; 3],
    /// Class towers.
    cv3: [Tower; 3],
    classes: i64,
}

/// Hidden width of the class towers of a fresh network; one made from weights keeps theirs.
pub(super) fn default_class_width(channels: [i64; 3], classes: i64) -> i64 {
    channels[0].max(classes.min(100))
}

impl Detect {
    pub(super) fn new(
        scope: &Scope<'_>,
        channels: [i64; 3],
        classes: i64,
        class_width: i64,
    ) -> Self {
        let level = |branch: &str, index: usize| scope / branch / index;
        let indices = [0, 1, 2];
        Self {
            cv2: indices.map(|i| Tower::boxes(&level("cv2", i), channels[i], BOX_WIDTH)),
            cv3: indices
                .map(|i| Tower::classes(&level("cv3", i), channels[i], class_width, classes)),
            classes,
        }
    }

    /// Raw outputs `[B, 64 + classes, H, W]` per level: logits of the bins, then of the classes.
    pub(super) fn forward(&self, maps: &[Tensor; 3], train: bool) -> [Tensor; 3] {
        [0, 1, 2].map(|i| {
            let boxes = self.cv2[i].forward(&maps[i], train);
            let classes = self.cv3[i].forward(&maps[i], train);
            Tensor::cat(&[boxes, classes], 1)
        })
    }

    /// The decoded predictions in a graph, for square images of this side.
    pub(super) fn export(&self, graph: &mut Graph, maps: &[Value; 3], side: i64) -> Value {
        let levels = [0, 1, 2].map(|i| {
            let boxes = self.cv2[i].export(graph, &maps[i]);
            let classes = self.cv3[i].export(graph, &maps[i]);
            let level = graph.concatenate(&[&boxes, &classes], 1);
            graph.reshape(&level, &[0, BOX_CHANNELS + self.classes, -1])
        });
        let flat = graph.concatenate(&levels.each_ref(), 2);
        let [boxes, classes] = graph.split(&flat, 1, [BOX_CHANNELS, self.classes]);

        let logits = graph.reshape(&boxes, &[0, 4, REG_MAX, -1]);
        let shares = graph.softmax(&logits, 2);
        let bins = graph.floats(&bins(Kind::Float, Device::Cpu).view([1, 1, REG_MAX, 1]));
        let weighted = graph.multiply(&shares, &bins);
        let distances = graph.sum(&weighted, 2);

        let cells = STRIDES.map(|stride| (side / stride, side / stride));
        let grid = AnchorGrid::new(cells, Device::Cpu);
        let points = graph.floats(&grid.points.transpose(0, 1).unsqueeze(0));
        let strides = graph.floats(&grid.strides.transpose(0, 1).unsqueeze(0));
        let sides = graph.multiply(&distances, &strides);
        let [before, after] = graph.split(&sides, 1, [2, 2]);
        let top_left = graph.subtract(&points, &before);
        let bottom_right = graph.add(&points, &after);
        let scores = graph.sigmoid(&classes);
        graph.concatenate(&[&top_left, &bottom_right, &scores], 1)
    }

    /// Boxes x1, y1, x2, y2 in pixels and class probabilities, `[B, 4 + classes, A]`.
    pub(super) fn decode(&self, levels: &[Tensor; 3]) -> Tensor {
        let grid = AnchorGrid::of(levels);
        let flat = levels.each_ref().map(|level| level.flatten(2, 3));
        let parts = Tensor::cat(&flat, 2).split_with_sizes([BOX_CHANNELS, self.classes], 1);
        let distances = expected_distance(&parts[0].unflatten(1, [4, REG_MAX]), 2);
        let (points, strides) = (grid.points.transpose(0, 1), grid.strides.transpose(0, 1));
        let sides = (distances * strides).chunk(2, 1);
        Tensor::cat(
            &[&points - &sides[0], &points + &sides[1], parts[1].sigmoid()],
            1,
        )
    }
}

/// Mean of the distribution whose logits lie along `dim`, in cells.
pub(crate) fn expected_distance(logits: &Tensor, dim: i64) -> Tensor {
    let mut shape = vec![1; logits.dim()];
    shape[usize::try_from(dim).expect("counted from the front")] = REG_MAX;
    let bins = bins(logits.kind(), logits.device()).view(shape.as_slice());
    (logits.softmax(dim, None) * bins).sum_dim_intlist(dim, false, None)
}

fn bins(kind: Kind, device: Device) -> Tensor {
    Tensor::arange(REG_MAX, (kind, device))
}
