//! Image in, feature maps at strides 8, 16 and 32 out.

use tch::Tensor;
use tch::nn::ModuleT;

use super::blocks::{Block, SppElan, down, elan, rep_ncsp_elan};
use super::size::{FirstBlock, Layout};
use crate::model::conv::Conv;
use crate::model::variables::Scope;
use crate::onnx::{Graph, Layer, Value};

#[derive(Debug)]
pub(super) struct Backbone {
    conv0: Conv,
    conv1: Conv,
    elan1: Block,
    /// `down2` with `elan2` to `down4` with `elan4`.
    stages: [(Block, Block); 3],
    spp: SppElan,
}

/// What the backbone sees.
#[derive(Debug)]
pub(super) struct Features {
    pub(super) p3: Tensor,
    pub(super) p4: Tensor,
    /// Stride 32 before the pyramid pooling; the auxiliary branch starts here.
    pub(super) b5: Tensor,
    pub(super) p5: Tensor,
}

impl Backbone {
    pub(super) fn new(scope: &Scope<'_>, layout: &Layout) -> Self {
        let [stem0, stem1] = layout.stem;
        let conv0 = Conv::halving(&(scope / "conv0"), 3, stem0, 3);
        let conv1 = Conv::halving(&(scope / "conv1"), stem0, stem1, 3);
        let (elan1, mut channels) = match layout.first {
            FirstBlock::Elan(width) => (elan(&(scope / "elan1"), stem1, width), width.out),
            FirstBlock::RepNcspElan(width) => (
                rep_ncsp_elan(&(scope / "elan1"), stem1, width, layout.repeat),
                width.out,
            ),
        };
        let mut index = 1;
        let stages = layout.stages.map(|(down_out, width)| {
            index += 1;
            let stage = (
                down(
                    layout.down,
                    &(scope / format!("down{index}")),
                    channels,
                    down_out,
                ),
                rep_ncsp_elan(
                    &(scope / format!("elan{index}")),
                    down_out,
                    width,
                    layout.repeat,
                ),
            );
            channels = width.out;
            stage
        });
        let spp = SppElan::new(&(scope / "spp"), channels, layout.spp);
        Self {
            conv0,
            conv1,
            elan1,
            stages,
            spp,
        }
    }

    /// The maps at strides 8, 16 and 32.
    pub(super) fn export(&self, graph: &mut Graph, images: &Value) -> [Value; 3] {
        let x = self.conv0.export(graph, images);
        let x = self.conv1.export(graph, &x);
        let mut x = self.elan1.export(graph, &x);
        let [p3, p4, b5] = self.stages.each_ref().map(|(down, elan)| {
            let y = down.export(graph, &x);
            x = elan.export(graph, &y);
            x.clone()
        });
        let p5 = self.spp.export(graph, &b5);
        [p3, p4, p5]
    }

    pub(super) fn forward(&self, x: &Tensor, train: bool) -> Features {
        let stage = |x: &Tensor, (down, elan): &(Block, Block)| {
            elan.forward_t(&down.forward_t(x, train), train)
        };
        let x = self.conv0.forward_t(x, train);
        let x = self.conv1.forward_t(&x, train);
        let x = self.elan1.forward_t(&x, train);
        let p3 = stage(&x, &self.stages[0]);
        let p4 = stage(&p3, &self.stages[1]);
        let b5 = stage(&p4, &self.stages[2]);
        let p5 = self.spp.forward_t(&b5, train);
        Features { p3, p4, b5, p5 }
    }
}
