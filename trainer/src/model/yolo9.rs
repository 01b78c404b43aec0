//! The whole network.

use std::cell::{Cell, RefCell};

use tch::{Device, Tensor};

use super::backbone::Backbone;
use super::head::{Detect, default_class_width};
use super::neck::{AuxNeck, Neck};
use super::size::Size;
use super::variables::{Parameter, Role, Scope, SharedSync, Variable};
use crate::onnx::{Graph, Value};
use crate::shim::SyncGroup;

/// What decides the shapes of all tensors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Yolo9Config {
    /// Widths and depth.
    pub size: Size,
    /// Number of classes.
    pub nc: i64,
    /// Hidden width of the detecting head's class towers; `None` takes a fresh network's. One that was
    /// trained on other classes keeps the width it was made with.
    pub class_width: Option<i64>,
    /// With the auxiliary branch of training (programmable gradient information).
    pub aux: bool,
}

/// Raw outputs per level, `[B, 64 + nc, H, W]`: logits of the distance bins, then of the classes.
#[derive(Debug)]
pub struct HeadOutputs {
    /// Of the head that detects.
    pub main: [Tensor; 3],
    /// Of the auxiliary head, if the network has one.
    pub aux: Option<[Tensor; 3]>,
}

/// YOLO9 with its parameters.
#[derive(Debug)]
pub struct Yolo9 {
    config: Yolo9Config,
    backbone: Backbone,
    neck: Neck,
    head: Detect,
    aux: Option<(AuxNeck, Detect)>,
    pub(super) variables: Vec<Variable>,
    /// Training batches since the counters were set: all batch normalisations see all batches, so
    /// one count serves them all.
    pub(super) batches: Cell<i64>,
    channels_last: bool,
    sync: SharedSync,
}

impl Yolo9 {
    /// A network with PyTorch's default initialisation, drawn from the global generator: call
    /// `tch::manual_seed` before to make it reproducible. The values don't depend on the device.
    #[must_use]
    pub fn new(config: &Yolo9Config, device: Device) -> Self {
        let layout = config.size.layout();
        let channels = layout.head_channels();
        let class_width = config
            .class_width
            .unwrap_or_else(|| default_class_width(channels, config.nc));
        let variables = RefCell::default();
        let scope = Scope::root(&variables, device);
        let detect =
            |name, class_width| Detect::new(&(&scope / name), channels, config.nc, class_width);
        let backbone = Backbone::new(&(&scope / "backbone"), &layout);
        let neck = Neck::new(&(&scope / "neck"), &layout);
        let head = detect("head", class_width);
        let aux = config.aux.then(|| {
            // LibreYOLO makes this head anew for the classes, whatever the other one's origin.
            let class_width = default_class_width(channels, config.nc);
            let neck = AuxNeck::new(&(&scope / "aux"), &layout);
            (neck, detect("aux_head", class_width))
        });
        let sync = scope.sync();
        Self {
            config: Yolo9Config {
                class_width: Some(class_width),
                ..*config
            },
            backbone,
            neck,
            head,
            aux,
            variables: variables.into_inner(),
            batches: Cell::new(0),
            channels_last: false,
            sync,
        }
    }

    /// The configuration, with the class width that was chosen.
    #[must_use]
    pub fn config(&self) -> Yolo9Config {
        self.config
    }

    /// Where the parameters lie.
    #[must_use]
    pub fn device(&self) -> Device {
        self.variables[0].tensor.device()
    }

    /// Forward pass in training mode: batch statistics are used and the running ones updated.
    ///
    /// `x` is `[B, 3, H, W]`, RGB from 0 to 1, both sides multiples of 32.
    #[must_use]
    pub fn forward_train(&self, x: &Tensor) -> HeadOutputs {
        self.batches.set(self.batches.get() + 1);
        let features = self.backbone.forward(x, true);
        let maps = self.neck.forward(&features, true);
        HeadOutputs {
            main: self.head.forward(&maps, true),
            aux: self
                .aux
                .as_ref()
                .map(|(neck, head)| head.forward(&neck.forward(&features, true), true)),
        }
    }

    /// Raw outputs of the detecting head with the running statistics.
    pub fn forward_raw(&self, x: &Tensor) -> [Tensor; 3] {
        let features = self.backbone.forward(x, false);
        self.head
            .forward(&self.neck.forward(&features, false), false)
    }

    /// Predictions `[B, 4 + nc, A]`: x1, y1, x2, y2 in pixels of the canvas, then a probability per
    /// class, for each anchor. Without gradients.
    pub fn forward_eval(&self, x: &Tensor) -> Tensor {
        tch::no_grad(|| self.head.decode(&self.forward_raw(x)))
    }

    /// [`Self::forward_eval`] in a graph, for square images of this side.
    pub(crate) fn export(&self, graph: &mut Graph, images: &Value, side: i64) -> Value {
        tch::no_grad(|| {
            let features = self.backbone.export(graph, images);
            let maps = self.neck.export(graph, &features);
            self.head.export(graph, &maps, side)
        })
    }

    /// The trainable tensors in the order of the state dict.
    #[must_use]
    pub fn parameters(&self) -> Vec<Parameter> {
        let parameter = |variable: &Variable| match variable.role {
            Role::Parameter(group) if variable.tensor.requires_grad() => Some(Parameter {
                name: variable.name.clone(),
                tensor: variable.tensor.shallow_clone(),
                group,
            }),
            _ => None,
        };
        self.variables.iter().filter_map(parameter).collect()
    }

    /// Takes the parameters at or under these names (such as `backbone.conv0`; the empty one is all) out of
    /// training, and with them their normalisations' statistics. Returns how many tensors were frozen.
    pub fn freeze(&self, prefixes: &[&str]) -> usize {
        let mut frozen = 0;
        for Variable { name, tensor, role } in &self.variables {
            let named = prefixes.iter().any(|prefix| is_below(name, prefix));
            if named && matches!(role, Role::Parameter(_)) {
                let _ = tensor.set_requires_grad(false);
                frozen += 1;
            }
        }
        frozen
    }

    /// A network with the same values and layout of its own, of which nothing is trained.
    #[must_use]
    pub fn frozen_copy(&self) -> Self {
        let mut copy = Self::new(&self.config, self.device());
        let _ = copy.freeze(&[""]);
        if self.channels_last {
            copy.to_channels_last();
        }
        copy.load_state_dict(&self.state_dict())
            .expect("the configuration decides names and shapes");
        copy
    }

    /// Copies of the normalisations' running statistics.
    #[must_use]
    pub(crate) fn statistics(&self) -> Vec<Tensor> {
        self.running().map(Tensor::copy).collect()
    }

    /// Puts back what [`Self::statistics`] gave.
    pub(crate) fn restore_statistics(&self, saved: &[Tensor]) {
        for (running, saved) in self.running().zip(saved) {
            tch::no_grad(|| running.shallow_clone().copy_(saved));
        }
    }

    fn running(&self) -> impl Iterator<Item = &Tensor> {
        let statistics = self
            .variables
            .iter()
            .filter(|variable| variable.role == Role::Statistic);
        statistics.map(|variable| &variable.tensor)
    }

    /// Parameters and statistics, detached, in the order of the state dict.
    pub(crate) fn float_tensors(&self) -> Vec<Tensor> {
        let floats = self
            .variables
            .iter()
            .filter(|variable| variable.role != Role::Counter);
        floats.map(|variable| variable.tensor.detach()).collect()
    }

    /// Makes the normalisations of the training pass take the batches of all processes of the group as one.
    /// Once set it stays.
    pub fn synchronise(&self, group: &'static SyncGroup) {
        // A second group would have the first one's processes: a training has one.
        let _ = self.sync.set(group);
    }

    /// Lays all kernels out as NHWC in memory, which convolutions on a CPU run faster with. Shapes,
    /// values and names stay; gradients follow the layout.
    pub fn to_channels_last(&mut self) {
        self.channels_last = true;
        tch::no_grad(|| {
            for variable in &mut self.variables {
                if variable.tensor.dim() == 4 {
                    let nhwc = variable.tensor.permute([0, 2, 3, 1]).contiguous();
                    variable.tensor.set_data(&nhwc.permute([0, 3, 1, 2]));
                }
            }
        });
    }

    /// Makes parameters and statistics double precision, for tests that compare arithmetic.
    #[cfg(test)]
    pub(crate) fn make_double(&mut self) {
        tch::no_grad(|| {
            for variable in &mut self.variables {
                if variable.role != Role::Counter {
                    let wide = variable.tensor.to_kind(tch::Kind::Double);
                    variable.tensor.set_data(&wide);
                }
            }
        });
    }
}

fn is_below(name: &str, prefix: &str) -> bool {
    let rest = name.strip_prefix(prefix);
    rest.is_some_and(|rest| prefix.is_empty() || rest.is_empty() || rest.starts_with('.'))
}
