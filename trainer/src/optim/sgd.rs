//! Stochastic gradient descent with Nesterov momentum, all parameters of a group in one call.

use std::collections::BTreeMap;

use tch::Tensor;

use crate::model::{Group, Parameter};
use crate::shim::{self, FusedSgd, ShimError};

/// The settings that don't change during a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SgdConfig {
    /// Learning rate until the schedule sets one.
    pub learning_rate: f64,
    /// Momentum until the schedule sets one.
    pub momentum: f64,
    /// Weight decay of the kernels; other parameters have none.
    pub weight_decay: f64,
    /// Whether the gradient is taken where the momentum leads.
    pub nesterov: bool,
}

impl Default for SgdConfig {
    fn default() -> Self {
        Self {
            learning_rate: 0.01,
            momentum: 0.937,
            weight_decay: 5e-4,
            nesterov: true,
        }
    }
}

/// The optimizer with its momentum buffers.
#[derive(Debug)]
pub struct Sgd {
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

/// A parameter and its momentum, which exists from the first step on.
#[derive(Debug)]
struct Slot {
    name: String,
    parameter: Tensor,
    momentum: Option<Tensor>,
}

/// The optimizer's state as PyTorch's `state_dict()` has it: parameters are numbered through the
/// groups.
#[derive(Debug)]
pub struct SgdState {
    /// `state[index].momentum_buffer`; parameters that had no step yet have none.
    pub momentum_buffers: BTreeMap<usize, Tensor>,
    /// `param_groups`.
    pub groups: Vec<GroupState>,
}

/// One entry of `param_groups`. `dampening` is 0 and `maximize` false always.
#[derive(Debug, Clone, PartialEq)]
pub struct GroupState {
    /// `lr`.
    pub learning_rate: f64,
    /// `momentum`.
    pub momentum: f64,
    /// `weight_decay`.
    pub weight_decay: f64,
    /// `nesterov`.
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
    /// A buffer has another shape than its parameter.
    #[error(
        "the momentum of `{name}` has shape {found:?} and its parameter {expected:?}: the state belongs to another network"
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

impl Sgd {
    /// An optimizer of these parameters. Groups are LibreYOLO's: scales of normalisations, kernels,
    /// biases, each in the parameters' order; a group without parameters is left out.
    #[must_use]
    pub fn new(parameters: Vec<Parameter>, config: SgdConfig) -> Self {
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
                momentum: None,
            });
        }
        Self {
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
            let options = FusedSgd {
                learning_rate: self.learning_rate,
                momentum: self.momentum,
                weight_decay: group.weight_decay,
                nesterov: self.nesterov,
                first_step: false,
            };
            step_group(&mut group.slots, options)?;
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
    pub fn state(&self) -> SgdState {
        let mut next = 0;
        let groups = self.groups.iter().map(|group| {
            let first = next;
            next += group.slots.len();
            GroupState {
                learning_rate: self.learning_rate,
                momentum: self.momentum,
                weight_decay: group.weight_decay,
                nesterov: self.nesterov,
                parameters: (first..next).collect(),
            }
        });
        let groups = groups.collect();
        let buffer =
            |(index, slot): (usize, &Slot)| Some((index, slot.momentum.as_ref()?.shallow_clone()));
        SgdState {
            momentum_buffers: self.slots().enumerate().filter_map(buffer).collect(),
            groups,
        }
    }

    /// Takes over a saved state: momentum buffers, and learning rate, momentum and weight decay of
    /// the groups. On an error nothing was changed.
    ///
    /// # Errors
    /// When the state belongs to another set of parameters.
    pub fn load_state(&mut self, state: &SgdState) -> Result<(), StateError> {
        let expected: Vec<_> = self.groups.iter().map(|group| group.slots.len()).collect();
        let found: Vec<_> = state
            .groups
            .iter()
            .map(|group| group.parameters.len())
            .collect();
        if expected != found {
            return Err(StateError::Groups { expected, found });
        }
        let buffers: Vec<_> = {
            let numbers = state.groups.iter().flat_map(|group| &group.parameters);
            numbers
                .map(|number| state.momentum_buffers.get(number))
                .collect()
        };
        for (slot, buffer) in self.slots().zip(&buffers) {
            if let Some(buffer) = buffer.filter(|buffer| buffer.size() != slot.parameter.size()) {
                return Err(StateError::Shape {
                    name: slot.name.clone(),
                    expected: slot.parameter.size(),
                    found: buffer.size(),
                });
            }
        }
        if let Some(group) = state.groups.first() {
            self.learning_rate = group.learning_rate;
            self.momentum = group.momentum;
            self.nesterov = group.nesterov;
        }
        for (group, saved) in self.groups.iter_mut().zip(&state.groups) {
            group.weight_decay = saved.weight_decay;
        }
        let slots = self.groups.iter_mut().flat_map(|group| &mut group.slots);
        for (slot, buffer) in slots.zip(buffers) {
            // The parameter's own device and memory layout, whatever the file's.
            slot.momentum = buffer.map(|buffer| {
                tch::no_grad(|| {
                    let mut momentum = slot.parameter.detach().empty_like();
                    momentum.copy_(buffer);
                    momentum
                })
            });
        }
        Ok(())
    }

    fn slots(&self) -> impl Iterator<Item = &Slot> {
        self.groups.iter().flat_map(|group| &group.slots)
    }
}

fn step_group(slots: &mut [Slot], options: FusedSgd) -> Result<(), ShimError> {
    // A first step sets the momentum and a later one updates it; with layers thawed or gradients
    // missing, a group can hold both.
    let mut first = Arguments::default();
    let mut later = Arguments::default();
    for slot in slots {
        let gradient = slot.parameter.grad();
        if !gradient.defined() {
            continue;
        }
        let (arguments, momentum) = match &slot.momentum {
            Some(momentum) => (&mut later, momentum),
            None => (
                &mut first,
                &*slot.momentum.insert(slot.parameter.detach().zeros_like()),
            ),
        };
        arguments.momenta.push(momentum.shallow_clone());
        arguments.parameters.push(slot.parameter.shallow_clone());
        arguments.gradients.push(gradient);
    }
    for (arguments, first_step) in [(first, true), (later, false)] {
        if arguments.parameters.is_empty() {
            continue;
        }
        let Arguments {
            parameters,
            gradients,
            momenta,
        } = arguments;
        shim::fused_sgd(
            &parameters,
            &gradients,
            &momenta,
            FusedSgd {
                first_step,
                ..options
            },
        )?;
    }
    Ok(())
}

#[derive(Default)]
struct Arguments {
    parameters: Vec<Tensor>,
    gradients: Vec<Tensor>,
    momenta: Vec<Tensor>,
}
