//! The parts of the network, and how an image passes through them.

use tch::Tensor;

use super::config::YoloxConfig;
use super::darknet::Darknet;
use super::head::Head;
use super::neck::Neck;
use crate::model::HeadOutputs;
use crate::model::variables::Scope;
use crate::onnx::{Graph, Value};

#[derive(Debug)]
pub(in crate::model) struct Yolox {
    backbone: Darknet,
    neck: Neck,
    head: Head,
}

impl Yolox {
    pub(in crate::model) fn new(scope: &Scope<'_>, config: &YoloxConfig) -> Self {
        let layout = config.size.layout();
        let neck = scope / "backbone";
        Self {
            backbone: Darknet::new(&(&neck / "backbone"), layout),
            neck: Neck::new(&neck, layout),
            head: Head::new(&(scope / "head"), layout, config.nc),
        }
    }

    pub(in crate::model) fn forward(&self, x: &Tensor, train: bool) -> HeadOutputs {
        let maps = self.neck.forward(&self.backbone.forward(x, train), train);
        HeadOutputs {
            main: self.head.forward(&maps, train),
            aux: None,
        }
    }

    pub(in crate::model) fn decode(&self, levels: &[Tensor; 3]) -> Tensor {
        self.head.decode(levels)
    }

    pub(in crate::model) fn export(&self, graph: &mut Graph, images: &Value, side: i64) -> Value {
        let features = self.backbone.export(graph, images);
        let maps = self.neck.export(graph, &features);
        self.head.export(graph, &maps, side)
    }
}
