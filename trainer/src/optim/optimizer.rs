//! The optimizer: parameters in groups, what it remembers of each, steps on a whole group in one call.

use std::collections::BTreeMap;

use tch::{Kind, Tensor};

use super::method::{Arguments, Method, Rates};
use crate::model::{Group, Parameter};
use crate::shim::{self, ShimError};

/// The settings that don't change during a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OptimizerConfig {
    pub method: Method,
    /// Learning rate until the schedule sets one.
    pub learning_rate: f64,
    /// Momentum of SGD until the schedule sets one.
    pub momentum: f64,
    /// Weight decay of the kernels; other parameters have none.
    pub weight_decay: f64,
    /// Of SGD: whether the gradient is taken where the momentum leads.
    pub nesterov: bool,
}

impl Default for OptimizerConfig {
    fn default() -> Self {
        Self {
            method: Method::Sgd,
            learning_rate: 0.01,
            momentum: 0.937,
            weight_decay: 5e-4,
            nesterov: true,
        }
    }
}

/// The optimizer with what it remembers.
#[derive(Debug)]
pub struct Optimizer {
    method: Method,
    groups: Vec<ParameterGroup>,
    learning_rate: f64,
    momentum: f64,
    nesterov: bool,
}

#[derive(Debug)]
struct ParameterGroup {
    weight_decay: f64,
    slots: Vec<Slot>,
}

/// A parameter and what is remembered of it, from its first step on.
#[derive(Debug)]
struct Slot {
    name: String,
    parameter: Tensor,
    memory: Option<Memory>,
}

/// What an optimizer remembers of one parameter.
#[derive(Debug)]
pub struct Memory {
    /// In the order of [`Method::buffers`], each of the parameter's shape.
    pub buffers: Vec<Tensor>,
    /// Steps taken, `[]` float; none for SGD, which doesn't count.
    pub step: Option<Tensor>,
}

/// The optimizer's state as PyTorch's `state_dict()` has it: parameters are numbered through the
/// groups.
#[derive(Debug)]
pub struct OptimizerState {
    pub method: Method,
    /// `state[index]`; parameters that had no step yet have none.
    pub memory: BTreeMap<usize, Memory>,
    /// `param_groups`.
    pub groups: Vec<GroupState>,
}

/// One entry of `param_groups`; other settings have PyTorch's defaults.
#[derive(Debug, Clone, PartialEq)]
pub struct GroupState {
    /// `lr`.
    pub learning_rate: f64,
    /// `momentum` of SGD, else 0.
    pub momentum: f64,
    /// `weight_decay`.
    pub weight_decay: f64,
    /// `nesterov` of SGD, else false.
    pub nesterov: bool,
    /// `params`: numbers of the group's parameters.
    pub parameters: Vec<usize>,
}

/// Why a state belongs to another optimizer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StateError {
    /// The groups differ in number or length.
    #[error(
        "the optimizer state has groups of {found:?} parameters and this network of {expected:?}: it was \
         saved with other layers frozen, or with or without the auxiliary branch"
    )]
    Groups {
        /// Lengths in this network.
        expected: Vec<usize>,
        /// Lengths in the state.
        found: Vec<usize>,
    },
    /// Another method's.
    #[error(
        "the optimizer state is of {found}, and this run's optimizer is {expected}: resume with optimizer={found}"
    )]
    Method {
        /// Of this run.
        expected: Method,
        /// Of the state.
        found: Method,
    },
    /// A buffer has another shape than its parameter.
    #[error(
        "the optimizer's buffer of `{name}` has shape {found:?} and its parameter {expected:?}: the state belongs to another network"
    )]
    Shape {
        /// The parameter's name.
        name: String,
        /// The parameter's shape.
        expected: Vec<i64>,
        /// The buffer's.
        found: Vec<i64>,
    },
}

impl Optimizer {
    /// An optimizer of these parameters. Groups are LibreYOLO's: scales of normalisations, kernels,
    /// biases, each in the parameters' order; a group without parameters is left out.
    #[must_use]
    pub fn new(parameters: Vec<Parameter>, config: OptimizerConfig) -> Self {
        let mut groups: BTreeMap<Group, ParameterGroup> = BTreeMap::new();
        for Parameter {
            name,
            tensor,
            group,
        } in parameters
        {
            let weight_decay = match group {
                Group::ConvWeight => config.weight_decay,
                Group::NormWeight | Group::Bias => 0.0,
            };
            let slots = &mut groups
                .entry(group)
                .or_insert_with(|| ParameterGroup {
                    weight_decay,
                    slots: Vec::new(),
                })
                .slots;
            slots.push(Slot {
                name,
                parameter: tensor,
                memory: None,
            });
        }
        Self {
            method: config.method,
            groups: groups.into_values().collect(),
            learning_rate: config.learning_rate,
            momentum: config.momentum,
            nesterov: config.nesterov,
        }
    }

    /// Learning rate of the next steps.
    pub fn set_learning_rate(&mut self, learning_rate: f64) {
        self.learning_rate = learning_rate;
    }

    /// Momentum of the next steps.
    pub fn set_momentum(&mut self, momentum: f64) {
        self.momentum = momentum;
    }

    /// Learning rate of the next step.
    #[must_use]
    pub fn learning_rate(&self) -> f64 {
        self.learning_rate
    }

    /// Moves every parameter that has a gradient.
    ///
    /// # Errors
    /// When libtorch refuses, such as for memory.
    pub fn step(&mut self) -> Result<(), ShimError> {
        for group in &mut self.groups {
            let rates = Rates {
                learning_rate: self.learning_rate,
                momentum: self.momentum,
                weight_decay: group.weight_decay,
                nesterov: self.nesterov,
            };
            step_group(self.method, &mut group.slots, rates)?;
        }
        Ok(())
    }

    /// The gradients there are, not copies, in the order of the parameters.
    #[must_use]
    pub fn gradients(&self) -> Vec<Tensor> {
        self.slots()
            .map(|slot| slot.parameter.grad())
            .filter(Tensor::defined)
            .collect()
    }

    /// Drops all gradients, so that the next backward pass starts anew.
    ///
    /// # Errors
    /// When libtorch refuses.
    pub fn zero_grad(&self) -> Result<(), ShimError> {
        let parameters: Vec<_> = self
            .slots()
            .map(|slot| slot.parameter.shallow_clone())
            .collect();
        shim::clear_gradients(&parameters)
    }

    /// The state to be saved; its tensors are the optimizer's own, not copies.
    #[must_use]
    pub fn state(&self) -> OptimizerState {
        let mut next = 0;
        let groups = self.groups.iter().map(|group| {
            let first = next;
            next += group.slots.len();
            let is_sgd = self.method == Method::Sgd;
            GroupState {
                learning_rate: self.learning_rate,
                momentum: if is_sgd { self.momentum } else { 0.0 },
                weight_decay: group.weight_decay,
                nesterov: is_sgd && self.nesterov,
                parameters: (first..next).collect(),
            }
        });
        let groups = groups.collect();
        let memory =
            |(index, slot): (usize, &Slot)| Some((index, slot.memory.as_ref()?.shallow_clone()));
        OptimizerState {
            method: self.method,
            memory: self.slots().enumerate().filter_map(memory).collect(),
            groups,
        }
    }

    /// Takes over a saved state: what is remembered, and learning rate, momentum and weight decay of
    /// the groups. On an error nothing was changed.
    ///
    /// # Errors
    /// When the state belongs to another method or set of parameters.
    pub fn load_state(&mut self, state: &OptimizerState) -> Result<(), StateError> {
        if state.method != self.method {
            return Err(StateError::Method {
                expected: self.method,
                found: state.method,
            });
        }
        let expected: Vec<_> = self.groups.iter().map(|group| group.slots.len()).collect();
        let found: Vec<_> = state
            .groups
            .iter()
            .map(|group| group.parameters.len())
            .collect();
        if expected != found {
            return Err(StateError::Groups { expected, found });
        }
        let memories: Vec<Option<&Memory>> = {
            let numbers = state.groups.iter().flat_map(|group| &group.parameters);
            numbers.map(|number| state.memory.get(number)).collect()
        };
        for (slot, memory) in self.slots().zip(&memories) {
            let mut buffers = memory.iter().flat_map(|memory| &memory.buffers);
            if let Some(buffer) = buffers.find(|buffer| buffer.size() != slot.parameter.size()) {
                return Err(StateError::Shape {
                    name: slot.name.clone(),
                    expected: slot.parameter.size(),
                    found: buffer.size(),
                });
            }
        }
        if let (Some(group), Method::Sgd) = (state.groups.first(), self.method) {
            self.momentum = group.momentum;
            self.nesterov = group.nesterov;
        }
        if let Some(group) = state.groups.first() {
            self.learning_rate = group.learning_rate;
        }
        for (group, saved) in self.groups.iter_mut().zip(&state.groups) {
            group.weight_decay = saved.weight_decay;
        }
        let slots = self.groups.iter_mut().flat_map(|group| &mut group.slots);
        for (slot, memory) in slots.zip(memories) {
            slot.memory = memory.map(|memory| memory.beside(&slot.parameter));
        }
        Ok(())
    }

    fn slots(&self) -> impl Iterator<Item = &Slot> {
        self.groups.iter().flat_map(|group| &group.slots)
    }
}

impl Memory {
    fn new(method: Method, parameter: &Tensor) -> Self {
        let buffers = method.buffers().iter();
        Self {
            buffers: buffers.map(|_| parameter.detach().zeros_like()).collect(),
            step: method
                .counts_steps()
                .then(|| Tensor::zeros([], (Kind::Float, parameter.device()))),
        }
    }

    /// A copy on the parameter's own device and with its memory layout, whatever the file's.
    fn beside(&self, parameter: &Tensor) -> Self {
        let copy = |buffer: &Tensor| {
            tch::no_grad(|| {
                let mut copy = parameter.detach().empty_like();
                copy.copy_(buffer);
                copy
            })
        };
        let to_step = |step: &Tensor| {
            step.to_kind(Kind::Float)
                .to_device(parameter.device())
                .copy()
        };
        Self {
            buffers: self.buffers.iter().map(copy).collect(),
            step: self.step.as_ref().map(to_step),
        }
    }

    fn shallow_clone(&self) -> Self {
        Self {
            buffers: self.buffers.iter().map(Tensor::shallow_clone).collect(),
            step: self.step.as_ref().map(Tensor::shallow_clone),
        }
    }
}

fn step_group(method: Method, slots: &mut [Slot], rates: Rates) -> Result<(), ShimError> {
    // A first step of SGD sets the momentum and a later one updates it; with layers thawed or gradients
    // missing, a group can hold both.
    let mut first = Arguments::default();
    let mut later = Arguments::default();
    for slot in slots {
        let gradient = slot.parameter.grad();
        if !gradient.defined() {
            continue;
        }
        let (arguments, memory) = match &slot.memory {
            Some(memory) => (&mut later, memory),
            None => (
                &mut first,
                &*slot.memory.insert(Memory::new(method, &slot.parameter)),
            ),
        };
        arguments.push(&slot.parameter, gradient, memory);
    }
    method.step(&first, rates, true)?;
    method.step(&later, rates, false)
}
