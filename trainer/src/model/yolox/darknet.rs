//! Image in, feature maps at strides 8, 16 and 32 out.

use tch::Tensor;
use tch::nn::ModuleT;

use super::blocks::{Bottlenecks, Conv3, CspLayer, Focus, SppBottleneck};
use super::size::Layout;
use crate::model::variables::Scope;
use crate::onnx::{Graph, Layer, Value};

/// CSPDarknet.
#[derive(Debug)]
pub(super) struct Darknet {
    stem: Focus,
    dark2: (Conv3, CspLayer),
    dark3: (Conv3, CspLayer),
    dark4: (Conv3, CspLayer),
    dark5: (Conv3, SppBottleneck, CspLayer),
}

impl Darknet {
    pub(super) fn new(scope: &Scope<'_>, layout: Layout) -> Self {
        let Layout {
            width,
            depth,
            kernel,
        } = layout;
        let inner = |count, have_shortcuts| Bottlenecks {
            count,
            kernel,
            have_shortcuts,
        };
        let halving = |name, inputs| {
            Conv3::halving(
                &(scope / name / 0),
                kernel,
                inputs * width,
                2 * inputs * width,
            )
        };
        let stage = |name, inputs: i64, count| {
            let outputs = 2 * inputs * width;
            let conv = halving(name, inputs);
            let layer = CspLayer::new(&(scope / name / 1), outputs, outputs, inner(count, true));
            (conv, layer)
        };
        let deepest = 16 * width;
        Self {
            stem: Focus::new(&(scope / "stem"), width),
            dark2: stage("dark2", 1, depth),
            dark3: stage("dark3", 2, 3 * depth),
            dark4: stage("dark4", 4, 3 * depth),
            dark5: (
                halving("dark5", 8),
                SppBottleneck::new(&(scope / "dark5" / 1), deepest),
                CspLayer::new(
                    &(scope / "dark5" / 2),
                    deepest,
                    deepest,
                    inner(depth, false),
                ),
            ),
        }
    }

    /// Maps at strides 8, 16 and 32.
    pub(super) fn forward(&self, x: &Tensor, train: bool) -> [Tensor; 3] {
        let stage = |(conv, layer): &(Conv3, CspLayer), x: &Tensor| {
            layer.forward_t(&conv.forward_t(x, train), train)
        };
        let x = stage(&self.dark2, &self.stem.forward(x, train));
        let x3 = stage(&self.dark3, &x);
        let x4 = stage(&self.dark4, &x3);
        let (conv, pyramid, layer) = &self.dark5;
        let x5 = pyramid.forward_t(&conv.forward_t(&x4, train), train);
        [x3, x4, layer.forward_t(&x5, train)]
    }

    /// [`Self::forward`] in a graph.
    pub(super) fn export(&self, graph: &mut Graph, images: &Value) -> [Value; 3] {
        let stage = |graph: &mut Graph, (conv, layer): &(Conv3, CspLayer), x: &Value| {
            let x = conv.export(graph, x);
            layer.export(graph, &x)
        };
        let x = self.stem.export(graph, images);
        let x = stage(graph, &self.dark2, &x);
        let x3 = stage(graph, &self.dark3, &x);
        let x4 = stage(graph, &self.dark4, &x3);
        let (conv, pyramid, layer) = &self.dark5;
        let x5 = conv.export(graph, &x4);
        let x5 = pyramid.export(graph, &x5);
        let x5 = layer.export(graph, &x5);
        [x3, x4, x5]
    }
}
