//! The blocks of YOLOv9: GELAN's aggregation blocks, downsampling and pooling.

use tch::Tensor;
use tch::nn::ModuleT;

use super::size::{Down, Width};
use crate::model::conv::Conv;
use crate::model::variables::Scope;
use crate::onnx::{Convolution, Graph, Layer, Pool, Value};

/// Boxed, because the sizes differ in which block stands at a place.
pub(super) type Block = Box<dyn Layer>;

/// 3x3 and 1x1 convolution side by side, summed before the activation.
#[derive(Debug)]
struct RepConvN {
    conv1: Conv,
    conv2: Conv,
}

impl RepConvN {
    fn new(scope: &Scope<'_>, inputs: i64, outputs: i64) -> Self {
        Self {
            conv1: Conv::linear(&(scope / "conv1"), inputs, outputs, 3),
            conv2: Conv::linear(&(scope / "conv2"), inputs, outputs, 1),
        }
    }
}

impl Layer for RepConvN {
    /// As one convolution: the 1x1 kernel is the 3x3 one's centre.
    fn export(&self, graph: &mut Graph, x: &Value) -> Value {
        let (wide, narrow) = (self.conv1.folded(), self.conv2.folded());
        let sum = Convolution {
            weight: wide.weight + narrow.weight.constant_pad_nd([1, 1, 1, 1]),
            bias: wide.bias + narrow.bias,
            ..wide
        };
        let y = graph.convolution(x, &sum);
        graph.silu(&y)
    }
}

impl ModuleT for RepConvN {
    fn forward_t(&self, x: &Tensor, train: bool) -> Tensor {
        (self.conv1.forward_t(x, train) + self.conv2.forward_t(x, train)).silu()
    }
}

/// Residual pair of convolutions.
#[derive(Debug)]
struct RepNBottleneck {
    cv1: RepConvN,
    cv2: Conv,
}

impl RepNBottleneck {
    fn new(scope: &Scope<'_>, channels: i64) -> Self {
        Self {
            cv1: RepConvN::new(&(scope / "cv1"), channels, channels),
            cv2: Conv::new(&(scope / "cv2"), channels, channels, 3),
        }
    }
}

impl Layer for RepNBottleneck {
    fn export(&self, graph: &mut Graph, x: &Value) -> Value {
        let y = self.cv1.export(graph, x);
        let y = self.cv2.export(graph, &y);
        graph.add(x, &y)
    }
}

impl ModuleT for RepNBottleneck {
    fn forward_t(&self, x: &Tensor, train: bool) -> Tensor {
        x + self.cv2.forward_t(&self.cv1.forward_t(x, train), train)
    }
}

/// Cross-stage partial block: one half goes through `m`, the other past it.
#[derive(Debug)]
struct RepNCsp {
    cv1: Conv,
    cv2: Conv,
    cv3: Conv,
    m: Vec<RepNBottleneck>,
}

impl RepNCsp {
    fn new(scope: &Scope<'_>, inputs: i64, outputs: i64, repeat: usize) -> Self {
        let hidden = outputs / 2;
        let m = scope / "m";
        Self {
            cv1: Conv::new(&(scope / "cv1"), inputs, hidden, 1),
            cv2: Conv::new(&(scope / "cv2"), inputs, hidden, 1),
            cv3: Conv::new(&(scope / "cv3"), 2 * hidden, outputs, 1),
            m: (0..repeat)
                .map(|i| RepNBottleneck::new(&(&m / i), hidden))
                .collect(),
        }
    }
}

impl Layer for RepNCsp {
    fn export(&self, graph: &mut Graph, x: &Value) -> Value {
        let start = self.cv1.export(graph, x);
        let blocks = self.m.iter();
        let deep = blocks.fold(start, |y, block| block.export(graph, &y));
        let past = self.cv2.export(graph, x);
        let both = graph.concatenate(&[&deep, &past], 1);
        self.cv3.export(graph, &both)
    }
}

impl ModuleT for RepNCsp {
    fn forward_t(&self, x: &Tensor, train: bool) -> Tensor {
        let start = self.cv1.forward_t(x, train);
        let deep = self
            .m
            .iter()
            .fold(start, |y, block| block.forward_t(&y, train));
        let past = self.cv2.forward_t(x, train);
        self.cv3.forward_t(&Tensor::cat(&[deep, past], 1), train)
    }
}

/// A `RepNCSP` with a convolution behind it.
#[derive(Debug)]
struct CspConv(RepNCsp, Conv);

impl CspConv {
    fn new(scope: &Scope<'_>, inputs: i64, outputs: i64, repeat: usize) -> Self {
        Self(
            RepNCsp::new(&(scope / 0), inputs, outputs, repeat),
            Conv::new(&(scope / 1), outputs, outputs, 3),
        )
    }
}

impl Layer for CspConv {
    fn export(&self, graph: &mut Graph, x: &Value) -> Value {
        let y = self.0.export(graph, x);
        self.1.export(graph, &y)
    }
}

impl ModuleT for CspConv {
    fn forward_t(&self, x: &Tensor, train: bool) -> Tensor {
        self.1.forward_t(&self.0.forward_t(x, train), train)
    }
}

/// Efficient layer aggregation: every stage's output is kept and fused at the end.
/// `M` is a convolution in ELAN, a [`CspConv`] in `RepNCSPELAN`.
#[derive(Debug)]
pub(super) struct Elan<M> {
    cv1: Conv,
    cv2: M,
    cv3: M,
    cv4: Conv,
}

pub(super) fn elan(scope: &Scope<'_>, inputs: i64, width: Width) -> Block {
    Box::new(Elan::new(scope, inputs, width, |scope, inputs, outputs| {
        Conv::new(scope, inputs, outputs, 3)
    }))
}

pub(super) fn rep_ncsp_elan(scope: &Scope<'_>, inputs: i64, width: Width, repeat: usize) -> Block {
    Box::new(Elan::new(scope, inputs, width, |scope, inputs, outputs| {
        CspConv::new(scope, inputs, outputs, repeat)
    }))
}

impl<M> Elan<M> {
    fn new(
        scope: &Scope<'_>,
        inputs: i64,
        width: Width,
        stage: impl Fn(&Scope<'_>, i64, i64) -> M,
    ) -> Self {
        let Width { out, part } = width;
        let half = part / 2;
        Self {
            cv1: Conv::new(&(scope / "cv1"), inputs, part, 1),
            cv2: stage(&(scope / "cv2"), half, half),
            cv3: stage(&(scope / "cv3"), half, half),
            cv4: Conv::new(&(scope / "cv4"), 2 * part, out, 1),
        }
    }
}

impl<M: Layer> Layer for Elan<M> {
    fn export(&self, graph: &mut Graph, x: &Value) -> Value {
        let start = self.cv1.export(graph, x);
        let [_, half] = graph.halves(&start);
        let second = self.cv2.export(graph, &half);
        let third = self.cv3.export(graph, &second);
        let all = graph.concatenate(&[&start, &second, &third], 1);
        self.cv4.export(graph, &all)
    }
}

impl<M: ModuleT> ModuleT for Elan<M> {
    fn forward_t(&self, x: &Tensor, train: bool) -> Tensor {
        let start = self.cv1.forward_t(x, train);
        let halves = start.chunk(2, 1);
        let second = self.cv2.forward_t(&halves[1], train);
        let third = self.cv3.forward_t(&second, train);
        self.cv4
            .forward_t(&Tensor::cat(&[start, second, third], 1), train)
    }
}

/// Halves the resolution, as the size's layout says.
pub(super) fn down(kind: Down, scope: &Scope<'_>, inputs: i64, outputs: i64) -> Block {
    match kind {
        Down::AConv => Box::new(AConv {
            cv: Conv::halving(&(scope / "cv"), inputs, outputs, 3),
        }),
        Down::ADown => Box::new(ADown {
            cv1: Conv::halving(&(scope / "cv1"), inputs / 2, outputs / 2, 3),
            cv2: Conv::new(&(scope / "cv2"), inputs / 2, outputs / 2, 1),
        }),
    }
}

#[derive(Debug)]
struct AConv {
    cv: Conv,
}

impl Layer for AConv {
    fn export(&self, graph: &mut Graph, x: &Value) -> Value {
        let y = graph.mean_pool(x, SMOOTH);
        self.cv.export(graph, &y)
    }
}

impl ModuleT for AConv {
    fn forward_t(&self, x: &Tensor, train: bool) -> Tensor {
        self.cv.forward_t(&smooth(x), train)
    }
}

/// Half the channels by strided convolution, half by pooling.
#[derive(Debug)]
struct ADown {
    cv1: Conv,
    cv2: Conv,
}

impl Layer for ADown {
    fn export(&self, graph: &mut Graph, x: &Value) -> Value {
        let smooth = graph.mean_pool(x, SMOOTH);
        let [first, second] = graph.halves(&smooth);
        let pooled = graph.max_pool(
            &second,
            Pool {
                kernel: 3,
                stride: 2,
                padding: 1,
            },
        );
        let convolved = self.cv1.export(graph, &first);
        let pooled = self.cv2.export(graph, &pooled);
        graph.concatenate(&[&convolved, &pooled], 1)
    }
}

impl ModuleT for ADown {
    fn forward_t(&self, x: &Tensor, train: bool) -> Tensor {
        let halves = smooth(x).chunk(2, 1);
        let pooled = halves[1].max_pool2d([3, 3], [2, 2], [1, 1], [1, 1], false);
        let convolved = self.cv1.forward_t(&halves[0], train);
        Tensor::cat(&[convolved, self.cv2.forward_t(&pooled, train)], 1)
    }
}

/// The window of [`smooth`].
const SMOOTH: Pool = Pool {
    kernel: 2,
    stride: 1,
    padding: 0,
};

/// 2x2 mean at stride 1, against aliasing.
fn smooth(x: &Tensor) -> Tensor {
    x.avg_pool2d([2, 2], [1, 1], [0, 0], false, true, None)
}

/// Spatial pyramid pooling: three 5x5 maxima in a row, all kept.
#[derive(Debug)]
pub(super) struct SppElan {
    cv1: Conv,
    cv5: Conv,
}

impl SppElan {
    pub(super) fn new(scope: &Scope<'_>, inputs: i64, outputs: i64) -> Self {
        let hidden = outputs / 2;
        Self {
            cv1: Conv::new(&(scope / "cv1"), inputs, hidden, 1),
            cv5: Conv::new(&(scope / "cv5"), 4 * hidden, outputs, 1),
        }
    }
}

impl Layer for SppElan {
    fn export(&self, graph: &mut Graph, x: &Value) -> Value {
        let pool = Pool {
            kernel: 5,
            stride: 1,
            padding: 2,
        };
        let x0 = self.cv1.export(graph, x);
        let x1 = graph.max_pool(&x0, pool);
        let x2 = graph.max_pool(&x1, pool);
        let x3 = graph.max_pool(&x2, pool);
        let all = graph.concatenate(&[&x0, &x1, &x2, &x3], 1);
        self.cv5.export(graph, &all)
    }
}

impl ModuleT for SppElan {
    fn forward_t(&self, x: &Tensor, train: bool) -> Tensor {
        let pool = |x: &Tensor| x.max_pool2d([5, 5], [1, 1], [2, 2], [1, 1], false);
        let x0 = self.cv1.forward_t(x, train);
        let x1 = pool(&x0);
        let x2 = pool(&x1);
        let x3 = pool(&x2);
        self.cv5
            .forward_t(&Tensor::cat(&[x0, x1, x2, x3], 1), train)
    }
}
