//! How a step is computed: SGD, Adam, AdamW, each as PyTorch's optimizer of that name.

use std::fmt;
use std::str::FromStr;

use tch::Tensor;

use super::optimizer::Memory;
use crate::shim::{self, FusedAdam, FusedSgd, ShimError};

/// PyTorch's defaults, which LibreYOLO leaves as they are.
const BETAS: (f64, f64) = (0.9, 0.999);
const EPSILON: f64 = 1e-8;

/// An optimizer's arithmetic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Stochastic gradient descent with momentum (Sutskever et al., "On the importance of initialization and
    /// momentum in deep learning", 2013).
    Sgd,
    /// Kingma and Ba, "Adam: A method for stochastic optimization", 2015; weight decay is added to the gradient.
    Adam,
    /// Loshchilov and Hutter, "Decoupled weight decay regularization", 2019.
    AdamW,
}

/// What the next step uses of a group.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rates {
    pub(super) learning_rate: f64,
    pub(super) momentum: f64,
    pub(super) weight_decay: f64,
    pub(super) nesterov: bool,
}

/// Parameters that step together, with the same place in each list.
#[derive(Default)]
pub(super) struct Arguments {
    parameters: Vec<Tensor>,
    gradients: Vec<Tensor>,
    /// One list for each of the method's buffers.
    buffers: Vec<Vec<Tensor>>,
    steps: Vec<Tensor>,
}

impl Arguments {
    pub(super) fn push(&mut self, parameter: &Tensor, gradient: Tensor, memory: &Memory) {
        self.parameters.push(parameter.shallow_clone());
        self.gradients.push(gradient);
        self.buffers.resize_with(memory.buffers.len(), Vec::new);
        for (list, buffer) in self.buffers.iter_mut().zip(&memory.buffers) {
            list.push(buffer.shallow_clone());
        }
        self.steps
            .extend(memory.step.as_ref().map(Tensor::shallow_clone));
    }
}

impl Method {
    /// Names of what is kept for each parameter, as in PyTorch's `state_dict()`.
    #[must_use]
    pub fn buffers(self) -> &'static [&'static str] {
        match self {
            Method::Sgd => &["momentum_buffer"],
            Method::Adam | Method::AdamW => &["exp_avg", "exp_avg_sq"],
        }
    }

    pub(super) fn counts_steps(self) -> bool {
        self != Method::Sgd
    }

    /// Moves the parameters; `is_first` when nothing is remembered of them yet.
    pub(super) fn step(
        self,
        arguments: &Arguments,
        rates: Rates,
        is_first: bool,
    ) -> Result<(), ShimError> {
        let Arguments {
            parameters,
            gradients,
            buffers,
            steps,
        } = arguments;
        match (self, buffers.as_slice()) {
            (Method::Sgd, [momenta]) => shim::fused_sgd(
                parameters,
                gradients,
                momenta,
                FusedSgd {
                    learning_rate: rates.learning_rate,
                    momentum: rates.momentum,
                    weight_decay: rates.weight_decay,
                    nesterov: rates.nesterov,
                    first_step: is_first,
                },
            ),
            (Method::Adam | Method::AdamW, [averages, squares]) => {
                tch::no_grad(|| {
                    for step in steps {
                        let _ = step.shallow_clone().g_add_scalar_(1.0);
                    }
                });
                shim::fused_adam(
                    [parameters, gradients, averages, squares, steps],
                    FusedAdam {
                        learning_rate: rates.learning_rate,
                        beta1: BETAS.0,
                        beta2: BETAS.1,
                        weight_decay: rates.weight_decay,
                        epsilon: EPSILON,
                        decoupled: self == Method::AdamW,
                    },
                )
            }
            // No parameter of this kind.
            _ => Ok(()),
        }
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Method::Sgd => "sgd",
            Method::Adam => "adam",
            Method::AdamW => "adamw",
        })
    }
}

impl FromStr for Method {
    type Err = ();

    fn from_str(name: &str) -> Result<Self, ()> {
        [Method::Sgd, Method::Adam, Method::AdamW]
            .into_iter()
            .find(|method| method.to_string() == name)
            .ok_or(())
    }
}
