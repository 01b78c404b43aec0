//! Path aggregation over the feature maps, and the auxiliary neck of training.

use tch::Tensor;
use tch::nn::ModuleT;

use super::backbone::Features;
use super::blocks::{Block, SppElan, down, rep_ncsp_elan};
use super::size::Layout;
use crate::model::merge::{export_up_and_cat, up_and_cat};
use crate::model::variables::Scope;
use crate::onnx::{Graph, Value};

/// Top-down, then bottom-up.
#[derive(Debug)]
pub(super) struct Neck {
    elan_up1: Block,
    elan_up2: Block,
    down1: Block,
    elan_down1: Block,
    down2: Block,
    elan_down2: Block,
}

impl Neck {
    pub(super) fn new(scope: &Scope<'_>, layout: &Layout) -> Self {
        let [(_, p3), (_, p4), _] = layout.stages;
        let [up1, up2] = layout.up;
        let [(down1, elan1), (down2, elan2)] = layout.down_path;
        let block =
            |name, inputs, width| rep_ncsp_elan(&(scope / name), inputs, width, layout.repeat);
        let halve = |name, inputs, outputs| down(layout.down, &(scope / name), inputs, outputs);
        Self {
            elan_up1: block("elan_up1", layout.spp + p4.out, up1),
            elan_up2: block("elan_up2", up1.out + p3.out, up2),
            down1: halve("down1", up2.out, down1),
            elan_down1: block("elan_down1", down1 + up1.out, elan1),
            down2: halve("down2", elan1.out, down2),
            elan_down2: block("elan_down2", down2 + layout.spp, elan2),
        }
    }

    /// [`Self::forward`] in a graph.
    pub(super) fn export(&self, graph: &mut Graph, [p3, p4, p5]: &[Value; 3]) -> [Value; 3] {
        let x = export_up_and_cat(graph, p5, p4);
        let n4 = self.elan_up1.export(graph, &x);
        let x = export_up_and_cat(graph, &n4, p3);
        let out3 = self.elan_up2.export(graph, &x);
        let down = self.down1.export(graph, &out3);
        let x = graph.concatenate(&[&down, &n4], 1);
        let out4 = self.elan_down1.export(graph, &x);
        let down = self.down2.export(graph, &out4);
        let x = graph.concatenate(&[&down, p5], 1);
        let out5 = self.elan_down2.export(graph, &x);
        [out3, out4, out5]
    }

    /// The maps of the head, at strides 8, 16 and 32.
    pub(super) fn forward(&self, features: &Features, train: bool) -> [Tensor; 3] {
        let Features { p3, p4, p5, .. } = features;
        let n4 = self.elan_up1.forward_t(&up_and_cat(p5, p4), train);
        let out3 = self.elan_up2.forward_t(&up_and_cat(&n4, p3), train);
        let down = self.down1.forward_t(&out3, train);
        let out4 = self
            .elan_down1
            .forward_t(&Tensor::cat(&[&down, &n4], 1), train);
        let down = self.down2.forward_t(&out4, train);
        let out5 = self
            .elan_down2
            .forward_t(&Tensor::cat(&[&down, p5], 1), train);
        [out3, out4, out5]
    }
}

/// Programmable gradient information: a second, shorter way from the backbone to a head of its own,
/// which gives the backbone better gradients and is dropped after training.
#[derive(Debug)]
pub(super) struct AuxNeck {
    spp: SppElan,
    elan_a4: Block,
    elan_a3: Block,
}

impl AuxNeck {
    pub(super) fn new(scope: &Scope<'_>, layout: &Layout) -> Self {
        let [(_, p3), (_, p4), (_, b5)] = layout.stages;
        let [a4, a3] = layout.up;
        let block =
            |name, inputs, width| rep_ncsp_elan(&(scope / name), inputs, width, layout.repeat);
        Self {
            spp: SppElan::new(&(scope / "spp"), b5.out, layout.spp),
            elan_a4: block("elan_a4", layout.spp + p4.out, a4),
            elan_a3: block("elan_a3", a4.out + p3.out, a3),
        }
    }

    pub(super) fn forward(&self, features: &Features, train: bool) -> [Tensor; 3] {
        let a5 = self.spp.forward_t(&features.b5, train);
        let a4 = self
            .elan_a4
            .forward_t(&up_and_cat(&a5, &features.p4), train);
        let a3 = self
            .elan_a3
            .forward_t(&up_and_cat(&a4, &features.p3), train);
        [a3, a4, a5]
    }
}
