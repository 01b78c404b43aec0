//! The network's tensors under their names, in order of creation.

use std::cell::RefCell;
use std::fmt::Display;
use std::ops::Div;
use std::sync::{Arc, OnceLock};

use tch::{Device, Kind, Tensor};

use crate::shim::SyncGroup;

/// What the optimizer makes of a parameter. The order is that of LibreYOLO's groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Group {
    /// Scale of a batch normalisation: no weight decay.
    NormWeight,
    /// Kernel of a convolution: the only group with weight decay.
    ConvWeight,
    /// Bias of either: no weight decay.
    Bias,
}

/// A trainable tensor.
#[derive(Debug)]
pub struct Parameter {
    /// Its name in the state dict.
    pub name: String,
    /// The tensor itself, not a copy.
    pub tensor: Tensor,
    /// Its group in the optimizer.
    pub group: Group,
}

/// What a tensor of the state dict is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Parameter(Group),
    /// Running mean or variance of a batch normalisation.
    Statistic,
    /// `num_batches_tracked` of a batch normalisation.
    Counter,
}

#[derive(Debug)]
pub(super) struct Variable {
    pub(super) name: String,
    pub(super) tensor: Tensor,
    pub(super) role: Role,
}

/// A place in the tree of modules; `&scope / "name"` goes one down.
pub(super) struct Scope<'a> {
    path: String,
    variables: &'a RefCell<Vec<Variable>>,
    device: Device,
    sync: SharedSync,
}

/// The processes whose batches all normalisations of a network take together, once that is set.
pub(super) type SharedSync = Arc<OnceLock<&'static SyncGroup>>;

impl<'a> Scope<'a> {
    pub(super) fn root(variables: &'a RefCell<Vec<Variable>>, device: Device) -> Self {
        Self {
            path: String::new(),
            variables,
            device,
            sync: SharedSync::default(),
        }
    }

    /// A parameter drawn from U(-bound, bound).
    pub(super) fn uniform(&self, name: &str, shape: &[i64], bound: f64, group: Group) -> Tensor {
        let tensor = Tensor::empty(shape, (Kind::Float, Device::Cpu)).uniform_(-bound, bound);
        self.add(name, tensor, Role::Parameter(group))
    }

    /// A parameter that starts at one value.
    pub(super) fn constant(&self, name: &str, shape: &[i64], value: f64, group: Group) -> Tensor {
        let tensor = Tensor::full(shape, value, (Kind::Float, Device::Cpu));
        self.add(name, tensor, Role::Parameter(group))
    }

    /// A statistic that starts at one value.
    pub(super) fn statistic(&self, name: &str, shape: &[i64], value: f64) -> Tensor {
        let tensor = Tensor::full(shape, value, (Kind::Float, Device::Cpu));
        self.add(name, tensor, Role::Statistic)
    }

    /// A counter at 0. Nothing in the forward pass reads it.
    pub(super) fn counter(&self, name: &str) {
        let _ = self.add(name, Tensor::from(0_i64), Role::Counter);
    }

    /// Of the whole network.
    pub(super) fn sync(&self) -> SharedSync {
        Arc::clone(&self.sync)
    }

    /// Values are drawn on the CPU, so that a seed gives the same network on every device.
    fn add(&self, name: &str, tensor: Tensor, role: Role) -> Tensor {
        let tensor = match role {
            Role::Parameter(_) => tensor.to_device(self.device).set_requires_grad(true),
            Role::Statistic => tensor.to_device(self.device),
            Role::Counter => tensor,
        };
        let handle = tensor.shallow_clone();
        self.variables.borrow_mut().push(Variable {
            name: (self / name).path,
            tensor,
            role,
        });
        handle
    }
}

impl<'a, T: Display> Div<T> for &Scope<'a> {
    type Output = Scope<'a>;

    fn div(self, segment: T) -> Scope<'a> {
        let path = match self.path.as_str() {
            "" => segment.to_string(),
            parent => format!("{parent}.{segment}"),
        };
        Scope {
            path,
            variables: self.variables,
            device: self.device,
            sync: self.sync(),
        }
    }
}

impl<'a, T: Display> Div<T> for Scope<'a> {
    type Output = Scope<'a>;

    fn div(self, segment: T) -> Scope<'a> {
        &self / segment
    }
}
