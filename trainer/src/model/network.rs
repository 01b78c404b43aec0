//! A network of any family with its parameters.

use std::cell::{Cell, RefCell};

use tch::{Device, Tensor};

use super::family::{Architecture, Family};
use super::state::{LoadError, canonical};
use super::variables::{Parameter, Role, Scope, SharedSync, Variable};
use super::yolo9::{Yolo9, Yolo9Config};
use super::yolox::{self, Yolox, YoloxConfig};
use crate::onnx::{Graph, Value};
use crate::shim::SyncGroup;

/// What decides the shapes of all tensors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NetworkConfig {
    Yolo9(Yolo9Config),
    Yolox(YoloxConfig),
}

/// Raw outputs per level, `[B, channels, H, W]`: of YOLO9 logits of the distance bins, then of the classes; of YOLOX
/// centre and logarithms of the sides in cells, then logits of objectness and of the classes.
#[derive(Debug)]
pub struct HeadOutputs {
    /// Of the head that detects.
    pub main: [Tensor; 3],
    /// Of the auxiliary head, if the network has one.
    pub aux: Option<[Tensor; 3]>,
}

/// A network with its parameters.
#[derive(Debug)]
pub struct Network {
    config: NetworkConfig,
    body: Body,
    pub(super) variables: Vec<Variable>,
    /// Training batches since the counters were set: all batch normalisations see all batches, so
    /// one count serves them all.
    pub(super) batches: Cell<i64>,
    channels_last: bool,
    sync: SharedSync,
}

#[derive(Debug)]
enum Body {
    Yolo9(Box<Yolo9>),
    Yolox(Box<Yolox>),
}

impl NetworkConfig {
    /// A network that starts from nothing. `aux` is for the families that have an auxiliary branch.
    #[must_use]
    pub fn scratch(architecture: Architecture, classes: i64, aux: bool) -> Self {
        match architecture {
            Architecture::Yolo9(size) => Yolo9Config::scratch(size, classes, aux).into(),
            Architecture::Yolox(size) => YoloxConfig { size, nc: classes }.into(),
        }
    }

    /// Reads the configuration off the names and shapes of a state dict.
    ///
    /// # Errors
    /// When the tensors are of no known network.
    pub fn of_state_dict(state: &[(String, Tensor)]) -> Result<Self, LoadError> {
        if state.iter().any(|(key, _)| canonical(key) == yolox::STEM) {
            return YoloxConfig::of_state_dict(state).map(Self::from);
        }
        Yolo9Config::of_state_dict(state).map(Self::from)
    }

    /// The same network for other classes, with an auxiliary branch or without.
    #[must_use]
    pub fn adapted(self, classes: i64, aux: bool) -> Self {
        match self {
            Self::Yolo9(config) => Self::Yolo9(Yolo9Config {
                nc: classes,
                aux,
                ..config
            }),
            Self::Yolox(config) => Self::Yolox(YoloxConfig {
                nc: classes,
                ..config
            }),
        }
    }

    /// The same network without what only training needs.
    #[must_use]
    pub fn for_inference(self) -> Self {
        self.adapted(self.classes(), false)
    }

    #[must_use]
    pub fn architecture(&self) -> Architecture {
        match self {
            Self::Yolo9(config) => config.architecture(),
            Self::Yolox(config) => config.architecture(),
        }
    }

    #[must_use]
    pub fn family(&self) -> Family {
        self.architecture().family()
    }

    /// Number of classes.
    #[must_use]
    pub fn classes(&self) -> i64 {
        match self {
            Self::Yolo9(config) => config.nc,
            Self::Yolox(config) => config.nc,
        }
    }
}

impl From<Yolo9Config> for NetworkConfig {
    fn from(config: Yolo9Config) -> Self {
        Self::Yolo9(config)
    }
}

impl From<YoloxConfig> for NetworkConfig {
    fn from(config: YoloxConfig) -> Self {
        Self::Yolox(config)
    }
}

impl Network {
    /// A network with PyTorch's default initialisation, drawn from the global generator: call
    /// `tch::manual_seed` before to make it reproducible. The values don't depend on the device.
    #[must_use]
    pub fn new(config: impl Into<NetworkConfig>, device: Device) -> Self {
        let mut config = config.into();
        let variables = RefCell::default();
        let scope = Scope::root(&variables, device);
        let body = match &mut config {
            NetworkConfig::Yolo9(config) => Body::Yolo9(Box::new(Yolo9::new(&scope, config))),
            NetworkConfig::Yolox(config) => Body::Yolox(Box::new(Yolox::new(&scope, config))),
        };
        let sync = scope.sync();
        Self {
            config,
            body,
            variables: variables.into_inner(),
            batches: Cell::new(0),
            channels_last: false,
            sync,
        }
    }

    /// The configuration, with what a fresh network chose.
    #[must_use]
    pub fn config(&self) -> NetworkConfig {
        self.config
    }

    #[must_use]
    pub fn family(&self) -> Family {
        self.config.family()
    }

    /// Where the parameters lie.
    #[must_use]
    pub fn device(&self) -> Device {
        self.variables[0].tensor.device()
    }

    /// Forward pass in training mode: batch statistics are used and the running ones updated.
    ///
    /// `x` is `[B, 3, H, W]` of the family's [`Pixels`](super::Pixels), both sides multiples of 32.
    #[must_use]
    pub fn forward_train(&self, x: &Tensor) -> HeadOutputs {
        self.batches.set(self.batches.get() + 1);
        self.body.forward(x, true)
    }

    /// Raw outputs of the detecting head with the running statistics.
    pub fn forward_raw(&self, x: &Tensor) -> [Tensor; 3] {
        self.body.forward(x, false).main
    }

    /// Predictions `[B, 4 + classes, A]`: x1, y1, x2, y2 in pixels of the canvas, then a probability per
    /// class, for each anchor. Without gradients.
    pub fn forward_eval(&self, x: &Tensor) -> Tensor {
        tch::no_grad(|| self.body.decode(&self.forward_raw(x)))
    }

    /// What LibreYOLO exports of the family, in a graph, for square images of this side.
    pub(crate) fn export(&self, graph: &mut Graph, images: &Value, side: i64) -> Value {
        tch::no_grad(|| self.body.export(graph, images, side))
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
        let mut copy = Self::new(self.config, self.device());
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

impl Body {
    fn forward(&self, x: &Tensor, train: bool) -> HeadOutputs {
        match self {
            Self::Yolo9(body) => body.forward(x, train),
            Self::Yolox(body) => body.forward(x, train),
        }
    }

    fn decode(&self, levels: &[Tensor; 3]) -> Tensor {
        match self {
            Self::Yolo9(body) => body.decode(levels),
            Self::Yolox(body) => body.decode(levels),
        }
    }

    fn export(&self, graph: &mut Graph, images: &Value, side: i64) -> Value {
        match self {
            Self::Yolo9(body) => body.export(graph, images, side),
            Self::Yolox(body) => body.export(graph, images, side),
        }
    }
}

fn is_below(name: &str, prefix: &str) -> bool {
    let rest = name.strip_prefix(prefix);
    rest.is_some_and(|rest| prefix.is_empty() || rest.is_empty() || rest.starts_with('.'))
}
