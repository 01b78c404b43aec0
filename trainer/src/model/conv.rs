//! Convolution, batch normalisation, activation: the brick of every block.

use tch::nn::ModuleT;
use tch::{Device, Kind, Tensor};

use super::variables::{Group, Scope, SharedSync};
use crate::onnx::{Convolution, Graph, Layer, Value};
use crate::shim::{SyncBatchNorm, sync_batch_norm};

const NORM_EPSILON: f64 = 1e-3;
const NORM_MOMENTUM: f64 = 0.03;

/// Convolution without bias, batch normalisation, SiLU.
#[derive(Debug)]
pub(super) struct Conv {
    conv: Conv2d,
    bn: BatchNorm,
    activation: Activation,
}

#[derive(Debug, Clone, Copy)]
enum Activation {
    Silu,
    Identity,
}

impl Conv {
    /// Keeps the resolution.
    pub(super) fn new(scope: &Scope<'_>, inputs: i64, outputs: i64, kernel: i64) -> Self {
        Self::with_shape(scope, Shape::new(inputs, outputs, kernel), Activation::Silu)
    }

    /// Halves the resolution.
    pub(super) fn halving(scope: &Scope<'_>, inputs: i64, outputs: i64, kernel: i64) -> Self {
        let shape = Shape {
            stride: 2,
            ..Shape::new(inputs, outputs, kernel)
        };
        Self::with_shape(scope, shape, Activation::Silu)
    }

    /// Convolves each group of channels on its own.
    pub(super) fn grouped(
        scope: &Scope<'_>,
        inputs: i64,
        outputs: i64,
        kernel: i64,
        groups: i64,
    ) -> Self {
        let shape = Shape {
            groups,
            ..Shape::new(inputs, outputs, kernel)
        };
        Self::with_shape(scope, shape, Activation::Silu)
    }

    /// Convolves each channel on its own.
    pub(super) fn depthwise(scope: &Scope<'_>, channels: i64, kernel: i64, stride: i64) -> Self {
        let shape = Shape {
            stride,
            groups: channels,
            ..Shape::new(channels, channels, kernel)
        };
        Self::with_shape(scope, shape, Activation::Silu)
    }

    /// Without activation.
    pub(super) fn linear(scope: &Scope<'_>, inputs: i64, outputs: i64, kernel: i64) -> Self {
        Self::with_shape(
            scope,
            Shape::new(inputs, outputs, kernel),
            Activation::Identity,
        )
    }

    fn with_shape(scope: &Scope<'_>, shape: Shape, activation: Activation) -> Self {
        Self {
            conv: Conv2d::new(&(scope / "conv"), shape, Bias::None),
            bn: BatchNorm::new(&(scope / "bn"), shape.outputs),
            activation,
        }
    }
}

impl Layer for Conv {
    fn export(&self, graph: &mut Graph, x: &Value) -> Value {
        let y = graph.convolution(x, &self.folded());
        match self.activation {
            Activation::Silu => graph.silu(&y),
            Activation::Identity => y,
        }
    }
}

impl Conv {
    /// The convolution that does what this one and its normalisation do by the running statistics.
    pub(super) fn folded(&self) -> Convolution {
        let scale = &self.bn.weight / (&self.bn.running_var + NORM_EPSILON).sqrt();
        Convolution {
            weight: &self.conv.weight * scale.view([-1, 1, 1, 1]),
            bias: &self.bn.bias - &self.bn.running_mean * scale,
            stride: self.conv.shape.stride,
            groups: self.conv.shape.groups,
        }
    }
}

impl ModuleT for Conv {
    fn forward_t(&self, x: &Tensor, train: bool) -> Tensor {
        self.normalised(&self.conv.forward(x), train)
    }
}

impl Conv {
    /// The kernel, for a block that convolves by it in its own way.
    pub(super) fn kernel(&self) -> &Tensor {
        &self.conv.weight
    }

    /// What follows the convolution.
    pub(super) fn normalised(&self, y: &Tensor, train: bool) -> Tensor {
        let y = self.bn.forward_t(y, train);
        match self.activation {
            Activation::Silu => y.silu(),
            Activation::Identity => y,
        }
    }
}

/// Whether a convolution has a bias, and what it starts from.
#[derive(Debug, Clone, Copy)]
pub(super) enum Bias {
    None,
    At(f64),
    /// PyTorch's default, U(±1/√fan-in).
    Drawn,
}

/// What a convolution looks like; padding keeps the resolution at stride 1.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shape {
    pub(super) inputs: i64,
    pub(super) outputs: i64,
    pub(super) kernel: i64,
    pub(super) stride: i64,
    pub(super) groups: i64,
}

impl Shape {
    pub(super) fn new(inputs: i64, outputs: i64, kernel: i64) -> Self {
        Self {
            inputs,
            outputs,
            kernel,
            stride: 1,
            groups: 1,
        }
    }
}

/// A bare convolution.
#[derive(Debug)]
pub(super) struct Conv2d {
    weight: Tensor,
    bias: Option<Tensor>,
    shape: Shape,
}

impl Conv2d {
    /// PyTorch's default for the kernel, U(±1/√fan-in).
    pub(super) fn new(scope: &Scope<'_>, shape: Shape, bias: Bias) -> Self {
        let Shape {
            inputs,
            outputs,
            kernel,
            groups,
            ..
        } = shape;
        let fan_in = inputs / groups * kernel * kernel;
        let size = [outputs, inputs / groups, kernel, kernel];
        #[expect(clippy::cast_precision_loss, reason = "a few thousand at most")]
        let bound = 1.0 / (fan_in as f64).sqrt();
        Self {
            weight: scope.uniform("weight", &size, bound, Group::ConvWeight),
            bias: match bias {
                Bias::None => None,
                Bias::At(value) => Some(scope.constant("bias", &[outputs], value, Group::Bias)),
                Bias::Drawn => Some(scope.uniform("bias", &[outputs], bound, Group::Bias)),
            },
            shape,
        }
    }

    pub(super) fn forward(&self, x: &Tensor) -> Tensor {
        let Shape {
            kernel,
            stride,
            groups,
            ..
        } = self.shape;
        let padding = (kernel - 1) / 2;
        x.conv2d(
            &self.weight,
            self.bias.as_ref(),
            [stride, stride],
            [padding, padding],
            [1, 1],
            groups,
        )
    }
}

impl Conv2d {
    pub(super) fn export(&self, graph: &mut Graph, x: &Value) -> Value {
        let Shape {
            outputs,
            stride,
            groups,
            ..
        } = self.shape;
        let no_bias = || Tensor::zeros([outputs], (Kind::Float, Device::Cpu));
        let convolution = Convolution {
            weight: self.weight.shallow_clone(),
            bias: self
                .bias
                .as_ref()
                .map_or_else(no_bias, Tensor::shallow_clone),
            stride,
            groups,
        };
        graph.convolution(x, &convolution)
    }
}

#[derive(Debug)]
struct BatchNorm {
    weight: Tensor,
    bias: Tensor,
    running_mean: Tensor,
    running_var: Tensor,
    sync: SharedSync,
}

impl BatchNorm {
    fn new(scope: &Scope<'_>, channels: i64) -> Self {
        let size = [channels];
        let module = Self {
            weight: scope.constant("weight", &size, 1.0, Group::NormWeight),
            bias: scope.constant("bias", &size, 0.0, Group::Bias),
            running_mean: scope.statistic("running_mean", &size, 0.0),
            running_var: scope.statistic("running_var", &size, 1.0),
            sync: scope.sync(),
        };
        scope.counter("num_batches_tracked");
        module
    }
}

impl ModuleT for BatchNorm {
    fn forward_t(&self, x: &Tensor, train: bool) -> Tensor {
        // A frozen layer keeps its statistics.
        let train = train && self.weight.requires_grad() && self.bias.requires_grad();
        if train && let Some(group) = self.sync.get() {
            let layer = SyncBatchNorm {
                weight: &self.weight,
                bias: &self.bias,
                running_mean: &self.running_mean,
                running_var: &self.running_var,
                momentum: NORM_MOMENTUM,
                epsilon: NORM_EPSILON,
            };
            // As tch's own operations: a module has no other way to fail.
            return sync_batch_norm(x, &layer, group).unwrap_or_else(|error| panic!("{error}"));
        }
        x.batch_norm(
            Some(&self.weight),
            Some(&self.bias),
            Some(&self.running_mean),
            Some(&self.running_var),
            train,
            NORM_MOMENTUM,
            NORM_EPSILON,
            true,
        )
    }
}
