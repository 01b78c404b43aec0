//! The exponential moving average of the weights, which is what gets validated and kept.

use tch::Tensor;

use crate::model::Network;
use crate::shim::{self, ShimError};

/// How fast the average follows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EmaConfig {
    /// Share of the average that an update keeps, in the long run.
    pub decay: f64,
    /// Updates until the share has come near that: it starts at 0.
    pub ramp: f64,
}

impl Default for EmaConfig {
    fn default() -> Self {
        Self {
            decay: 0.9999,
            ramp: 2000.0,
        }
    }
}

/// A copy of the network that holds the average of all its parameters and statistics.
#[derive(Debug)]
pub struct Ema {
    model: Network,
    averages: Vec<Tensor>,
    updates: u64,
    config: EmaConfig,
}

impl Ema {
    /// An average that starts at the network's present values.
    #[must_use]
    pub fn new(model: &Network, config: EmaConfig) -> Self {
        let copy = model.frozen_copy();
        let averages = copy.float_tensors();
        Self {
            model: copy,
            averages,
            updates: 0,
            config,
        }
    }

    /// The average as a network: for validation, and for saving by its state dict.
    #[must_use]
    pub fn model(&self) -> &Network {
        &self.model
    }

    /// How often it was updated.
    #[must_use]
    pub fn updates(&self) -> u64 {
        self.updates
    }

    /// Sets the number of updates, after the values were loaded into [`Self::model`].
    pub fn set_updates(&mut self, updates: u64) {
        self.updates = updates;
    }

    /// Takes the network's present values in.
    ///
    /// # Errors
    /// When libtorch refuses, such as for memory.
    pub fn update(&mut self, model: &Network) -> Result<(), ShimError> {
        self.updates += 1;
        shim::foreach_lerp(&self.averages, &model.float_tensors(), 1.0 - self.decay())
    }

    /// Share of the average that the last update kept.
    #[must_use]
    pub fn decay(&self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
        let updates = self.updates as f64;
        self.config.decay * (1.0 - (-updates / self.config.ramp).exp())
    }
}
