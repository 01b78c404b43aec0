//! What the backbone, the neck and the head are made of.

use tch::Tensor;
use tch::nn::ModuleT;

use crate::model::conv::Conv;
use crate::model::variables::Scope;
use crate::onnx::{Convolution, Graph, Layer, Pool, Value};

/// How the 3x3 convolutions mix channels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kernel {
    Dense,
    /// Each channel alone, then all by a 1x1 convolution.
    Depthwise,
}

/// A 3x3 convolution of either kind.
#[derive(Debug)]
pub(super) enum Conv3 {
    Dense(Conv),
    Depthwise(Conv, Conv),
}

impl Conv3 {
    /// Keeps the resolution.
    pub(super) fn new(scope: &Scope<'_>, kernel: Kernel, inputs: i64, outputs: i64) -> Self {
        match kernel {
            Kernel::Dense => Self::Dense(Conv::new(scope, inputs, outputs, 3)),
            Kernel::Depthwise => Self::depthwise(scope, inputs, outputs, 1),
        }
    }

    /// Halves the resolution.
    pub(super) fn halving(scope: &Scope<'_>, kernel: Kernel, inputs: i64, outputs: i64) -> Self {
        match kernel {
            Kernel::Dense => Self::Dense(Conv::halving(scope, inputs, outputs, 3)),
            Kernel::Depthwise => Self::depthwise(scope, inputs, outputs, 2),
        }
    }

    fn depthwise(scope: &Scope<'_>, inputs: i64, outputs: i64, stride: i64) -> Self {
        let each = Conv::depthwise(&(scope / "dconv"), inputs, 3, stride);
        Self::Depthwise(each, Conv::new(&(scope / "pconv"), inputs, outputs, 1))
    }
}

impl ModuleT for Conv3 {
    fn forward_t(&self, x: &Tensor, train: bool) -> Tensor {
        match self {
            Self::Dense(conv) => conv.forward_t(x, train),
            Self::Depthwise(each, all) => all.forward_t(&each.forward_t(x, train), train),
        }
    }
}

impl Layer for Conv3 {
    fn export(&self, graph: &mut Graph, x: &Value) -> Value {
        match self {
            Self::Dense(conv) => conv.export(graph, x),
            Self::Depthwise(each, all) => {
                let x = each.export(graph, x);
                all.export(graph, &x)
            }
        }
    }
}

/// The stem: each 2x2 square of pixels as one of twelve channels, then a 3x3 convolution.
#[derive(Debug)]
pub(super) struct Focus {
    conv: Conv,
}

impl Focus {
    pub(super) fn new(scope: &Scope<'_>, outputs: i64) -> Self {
        Self {
            conv: Conv::new(&(scope / "conv"), 12, outputs, 3),
        }
    }

    pub(super) fn forward(&self, x: &Tensor, train: bool) -> Tensor {
        let kernel = on_pixels(self.conv.kernel());
        let y = x.conv2d::<Tensor>(&kernel, None, [2, 2], [2, 2], [1, 1], 1);
        self.conv.normalised(&y, train)
    }

    pub(super) fn export(&self, graph: &mut Graph, x: &Value) -> Value {
        let folded = self.conv.folded();
        let convolution = Convolution {
            weight: on_pixels(&folded.weight),
            stride: 2,
            ..folded
        };
        let y = graph.convolution(x, &convolution);
        graph.silu(&y)
    }
}

/// A 3x3 kernel over squares as the 6x6 kernel over pixels that computes the same at stride 2.
///
/// The twelve channels are colours of the square's upper left, lower left, upper right, lower right pixel.
fn on_pixels(kernel: &Tensor) -> Tensor {
    let outputs = kernel.size()[0];
    kernel
        .reshape([outputs, 2, 2, 3, 3, 3])
        .permute([0, 3, 4, 2, 5, 1])
        .reshape([outputs, 3, 6, 6])
}

/// Two convolutions, and their input added.
#[derive(Debug)]
struct Bottleneck {
    conv1: Conv,
    conv2: Conv3,
    has_shortcut: bool,
}

impl Bottleneck {
    fn new(scope: &Scope<'_>, kernel: Kernel, channels: i64, has_shortcut: bool) -> Self {
        Self {
            conv1: Conv::new(&(scope / "conv1"), channels, channels, 1),
            conv2: Conv3::new(&(scope / "conv2"), kernel, channels, channels),
            has_shortcut,
        }
    }
}

impl ModuleT for Bottleneck {
    fn forward_t(&self, x: &Tensor, train: bool) -> Tensor {
        let y = self.conv2.forward_t(&self.conv1.forward_t(x, train), train);
        if self.has_shortcut { y + x } else { y }
    }
}

impl Layer for Bottleneck {
    fn export(&self, graph: &mut Graph, x: &Value) -> Value {
        let y = self.conv1.export(graph, x);
        let y = self.conv2.export(graph, &y);
        if self.has_shortcut {
            graph.add(&y, x)
        } else {
            y
        }
    }
}

/// Half of the channels through bottlenecks, half past them.
#[derive(Debug)]
pub(super) struct CspLayer {
    conv1: Conv,
    conv2: Conv,
    conv3: Conv,
    bottlenecks: Vec<Bottleneck>,
}

/// What the bottlenecks of a [`CspLayer`] are.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bottlenecks {
    pub(super) count: usize,
    pub(super) kernel: Kernel,
    pub(super) have_shortcuts: bool,
}

impl CspLayer {
    pub(super) fn new(scope: &Scope<'_>, inputs: i64, outputs: i64, inner: Bottlenecks) -> Self {
        let hidden = outputs / 2;
        let Bottlenecks {
            count,
            kernel,
            have_shortcuts,
        } = inner;
        Self {
            conv1: Conv::new(&(scope / "conv1"), inputs, hidden, 1),
            conv2: Conv::new(&(scope / "conv2"), inputs, hidden, 1),
            conv3: Conv::new(&(scope / "conv3"), 2 * hidden, outputs, 1),
            bottlenecks: (0..count)
                .map(|i| Bottleneck::new(&(scope / "m" / i), kernel, hidden, have_shortcuts))
                .collect(),
        }
    }
}

impl ModuleT for CspLayer {
    fn forward_t(&self, x: &Tensor, train: bool) -> Tensor {
        let through = self
            .bottlenecks
            .iter()
            .fold(self.conv1.forward_t(x, train), |x, bottleneck| {
                bottleneck.forward_t(&x, train)
            });
        let past = self.conv2.forward_t(x, train);
        self.conv3
            .forward_t(&Tensor::cat(&[through, past], 1), train)
    }
}

impl Layer for CspLayer {
    fn export(&self, graph: &mut Graph, x: &Value) -> Value {
        let mut through = self.conv1.export(graph, x);
        for bottleneck in &self.bottlenecks {
            through = bottleneck.export(graph, &through);
        }
        let past = self.conv2.export(graph, x);
        let both = graph.concatenate(&[&through, &past], 1);
        self.conv3.export(graph, &both)
    }
}

/// A map beside its maxima over windows of 5, 9 and 13 cells: pooling by 5 two and three times in a row.
#[derive(Debug)]
pub(super) struct SppBottleneck {
    conv1: Conv,
    conv2: Conv,
}

const WINDOW: Pool = Pool {
    kernel: 5,
    stride: 1,
    padding: 2,
};

impl SppBottleneck {
    pub(super) fn new(scope: &Scope<'_>, channels: i64) -> Self {
        let hidden = channels / 2;
        Self {
            conv1: Conv::new(&(scope / "conv1"), channels, hidden, 1),
            conv2: Conv::new(&(scope / "conv2"), 4 * hidden, channels, 1),
        }
    }
}

impl ModuleT for SppBottleneck {
    fn forward_t(&self, x: &Tensor, train: bool) -> Tensor {
        let Pool {
            kernel,
            stride,
            padding,
        } = WINDOW;
        let pool = |x: &Tensor| {
            x.max_pool2d(
                [kernel, kernel],
                [stride, stride],
                [padding, padding],
                [1, 1],
                false,
            )
        };
        let x = self.conv1.forward_t(x, train);
        let five = pool(&x);
        let nine = pool(&five);
        let thirteen = pool(&nine);
        self.conv2
            .forward_t(&Tensor::cat(&[x, five, nine, thirteen], 1), train)
    }
}

impl Layer for SppBottleneck {
    fn export(&self, graph: &mut Graph, x: &Value) -> Value {
        let x = self.conv1.export(graph, x);
        let five = graph.max_pool(&x, WINDOW);
        let nine = graph.max_pool(&five, WINDOW);
        let thirteen = graph.max_pool(&nine, WINDOW);
        let all = graph.concatenate(&[&x, &five, &nine, &thirteen], 1);
        self.conv2.export(graph, &all)
    }
}
