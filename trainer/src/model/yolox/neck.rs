//! Path aggregation over the feature maps.

use tch::Tensor;
use tch::nn::ModuleT;

use super::blocks::{Bottlenecks, Conv3, CspLayer};
use super::size::Layout;
use crate::model::conv::Conv;
use crate::model::merge::{export_up_and_cat, up_and_cat};
use crate::model::variables::Scope;
use crate::onnx::{Graph, Layer, Value};

/// Top-down, then bottom-up.
#[derive(Debug)]
pub(super) struct Neck {
    lateral_conv0: Conv,
    c3_p4: CspLayer,
    reduce_conv1: Conv,
    c3_p3: CspLayer,
    bu_conv2: Conv3,
    c3_n3: CspLayer,
    bu_conv1: Conv3,
    c3_n4: CspLayer,
}

impl Neck {
    pub(super) fn new(scope: &Scope<'_>, layout: Layout) -> Self {
        let [fine, middle, coarse] = [4, 8, 16].map(|multiple| multiple * layout.width);
        let inner = Bottlenecks {
            count: layout.depth,
            kernel: layout.kernel,
            have_shortcuts: false,
        };
        let layer = |name, inputs, outputs| CspLayer::new(&(scope / name), inputs, outputs, inner);
        let halving =
            |name, channels| Conv3::halving(&(scope / name), layout.kernel, channels, channels);
        Self {
            lateral_conv0: Conv::new(&(scope / "lateral_conv0"), coarse, middle, 1),
            c3_p4: layer("C3_p4", 2 * middle, middle),
            reduce_conv1: Conv::new(&(scope / "reduce_conv1"), middle, fine, 1),
            c3_p3: layer("C3_p3", 2 * fine, fine),
            bu_conv2: halving("bu_conv2", fine),
            c3_n3: layer("C3_n3", 2 * fine, middle),
            bu_conv1: halving("bu_conv1", middle),
            c3_n4: layer("C3_n4", 2 * middle, coarse),
        }
    }

    /// The maps of the head, at strides 8, 16 and 32.
    pub(super) fn forward(&self, [x3, x4, x5]: &[Tensor; 3], train: bool) -> [Tensor; 3] {
        let top5 = self.lateral_conv0.forward_t(x5, train);
        let x = self.c3_p4.forward_t(&up_and_cat(&top5, x4), train);
        let top4 = self.reduce_conv1.forward_t(&x, train);
        let out3 = self.c3_p3.forward_t(&up_and_cat(&top4, x3), train);
        let x = self.bu_conv2.forward_t(&out3, train);
        let out4 = self.c3_n3.forward_t(&Tensor::cat(&[x, top4], 1), train);
        let x = self.bu_conv1.forward_t(&out4, train);
        let out5 = self.c3_n4.forward_t(&Tensor::cat(&[x, top5], 1), train);
        [out3, out4, out5]
    }

    /// [`Self::forward`] in a graph.
    pub(super) fn export(&self, graph: &mut Graph, [x3, x4, x5]: &[Value; 3]) -> [Value; 3] {
        let top5 = self.lateral_conv0.export(graph, x5);
        let x = export_up_and_cat(graph, &top5, x4);
        let x = self.c3_p4.export(graph, &x);
        let top4 = self.reduce_conv1.export(graph, &x);
        let x = export_up_and_cat(graph, &top4, x3);
        let out3 = self.c3_p3.export(graph, &x);
        let x = self.bu_conv2.export(graph, &out3);
        let x = graph.concatenate(&[&x, &top4], 1);
        let out4 = self.c3_n3.export(graph, &x);
        let x = self.bu_conv1.export(graph, &out4);
        let x = graph.concatenate(&[&x, &top5], 1);
        let out5 = self.c3_n4.export(graph, &x);
        [out3, out4, out5]
    }
}
