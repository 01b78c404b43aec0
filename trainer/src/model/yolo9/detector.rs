//! The parts of the network, and how an image passes through them.

use tch::Tensor;

use super::backbone::Backbone;
use super::config::Yolo9Config;
use super::head::{Detect, default_class_width};
use super::neck::{AuxNeck, Neck};
use crate::model::HeadOutputs;
use crate::model::variables::Scope;
use crate::onnx::{Graph, Value};

#[derive(Debug)]
pub(in crate::model) struct Yolo9 {
    backbone: Backbone,
    neck: Neck,
    head: Detect,
    aux: Option<(AuxNeck, Detect)>,
}

impl Yolo9 {
    /// Draws the network, and writes the class width it chose into the configuration.
    pub(in crate::model) fn new(scope: &Scope<'_>, config: &mut Yolo9Config) -> Self {
        let layout = config.size.layout();
        let channels = layout.head_channels();
        let class_width = config
            .class_width
            .unwrap_or_else(|| default_class_width(channels, config.nc));
        config.class_width = Some(class_width);
        let detect =
            |name, class_width| Detect::new(&(scope / name), channels, config.nc, class_width);
        let backbone = Backbone::new(&(scope / "backbone"), &layout);
        let neck = Neck::new(&(scope / "neck"), &layout);
        let head = detect("head", class_width);
        let aux = config.aux.then(|| {
            // LibreYOLO makes this head anew for the classes, whatever the other one's origin.
            let class_width = default_class_width(channels, config.nc);
            let neck = AuxNeck::new(&(scope / "aux"), &layout);
            (neck, detect("aux_head", class_width))
        });
        Self {
            backbone,
            neck,
            head,
            aux,
        }
    }

    /// Raw outputs; those of the auxiliary head in training alone.
    pub(in crate::model) fn forward(&self, x: &Tensor, train: bool) -> HeadOutputs {
        let features = self.backbone.forward(x, train);
        let maps = self.neck.forward(&features, train);
        HeadOutputs {
            main: self.head.forward(&maps, train),
            aux: self
                .aux
                .as_ref()
                .filter(|_| train)
                .map(|(neck, head)| head.forward(&neck.forward(&features, true), true)),
        }
    }

    pub(in crate::model) fn decode(&self, levels: &[Tensor; 3]) -> Tensor {
        self.head.decode(levels)
    }

    /// The decoded predictions in a graph, for square images of this side.
    pub(in crate::model) fn export(&self, graph: &mut Graph, images: &Value, side: i64) -> Value {
        let features = self.backbone.export(graph, images);
        let maps = self.neck.export(graph, &features);
        self.head.export(graph, &maps, side)
    }
}
