//! Mixed precision: convolutions in half the bits, and a scale on the loss that keeps small gradients.
//!
//! Micikevicius et al., "Mixed precision training", 2018; constants and state are those of PyTorch's `GradScaler`.

use tch::{Device, Tensor};

use crate::config::{AmpType, TrainConfig};
use crate::shim::device::{HalfKind, set_autocast};
use crate::shim::{self, ShimError};

const FIRST_SCALE: f64 = 65_536.0;
const GROWTH: f64 = 2.0;
const BACKOFF: f64 = 0.5;
/// Steps without an overflow until the scale grows.
const GROWTH_INTERVAL: u32 = 2000;

/// How the passes of a step compute.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Precision {
    Single,
    BFloat16,
    Float16(Scaler),
}

/// The loss's scale: as large as the gradients allow.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scaler {
    pub scale: f64,
    /// Steps since it changed.
    pub steady_steps: u32,
}

impl Default for Scaler {
    fn default() -> Self {
        Self {
            scale: FIRST_SCALE,
            steady_steps: 0,
        }
    }
}

impl Scaler {
    /// After a step: an overflow halves the scale, and 2000 steps without one double it.
    pub(super) fn update(&mut self, is_overflow: bool) {
        if is_overflow {
            self.scale *= BACKOFF;
            self.steady_steps = 0;
            return;
        }
        self.steady_steps += 1;
        if self.steady_steps == GROWTH_INTERVAL {
            self.scale *= GROWTH;
            self.steady_steps = 0;
        }
    }
}

impl Precision {
    /// As configured; a CPU has single precision alone, as in LibreYOLO.
    pub(super) fn of(config: &TrainConfig, device: Device, saved: Option<Scaler>) -> Self {
        match (config.amp && device.is_cuda(), config.amp_dtype) {
            (false, _) => Self::Single,
            (true, AmpType::BFloat16) => Self::BFloat16,
            (true, AmpType::Float16) => Self::Float16(saved.unwrap_or_default()),
        }
    }

    /// Runs a forward pass in this precision.
    pub(super) fn run<T>(&self, device: Device, pass: impl FnOnce() -> T) -> Result<T, ShimError> {
        let kind = match self {
            Self::Single => return Ok(pass()),
            Self::BFloat16 => HalfKind::BFloat16,
            Self::Float16(_) => HalfKind::Float16,
        };
        set_autocast(device, Some(kind))?;
        let _off = Off(device);
        Ok(pass())
    }

    /// What is differentiated in place of the loss.
    pub(super) fn scaled(&self, loss: &Tensor) -> Tensor {
        match self {
            Self::Float16(scaler) => loss * scaler.scale,
            _ => loss.shallow_clone(),
        }
    }

    /// Takes the scale out of the gradients; false when the step must be left out, because they overflowed.
    pub(super) fn unscale(
        &mut self,
        gradients: impl FnOnce() -> Vec<Tensor>,
    ) -> Result<bool, ShimError> {
        let Self::Float16(scaler) = self else {
            return Ok(true);
        };
        let is_finite = shim::unscale(&gradients(), 1.0 / scaler.scale)?;
        scaler.update(!is_finite);
        Ok(is_finite)
    }

    pub(super) fn scaler(&self) -> Option<Scaler> {
        match self {
            Self::Float16(scaler) => Some(*scaler),
            _ => None,
        }
    }
}

/// Ends a pass, whichever way it ends.
struct Off(Device);

impl Drop for Off {
    fn drop(&mut self) {
        // It was switched on a moment ago, so it can be switched off.
        let _ = set_autocast(self.0, None);
    }
}

#[cfg(test)]
mod tests {
    use tch::Kind;

    use super::*;

    #[test]
    fn the_scale_follows_pytorchs_rule() {
        let mut scaler = Scaler::default();
        scaler.update(true);
        assert_eq!((scaler.scale, scaler.steady_steps), (32_768.0, 0));
        for _ in 0..GROWTH_INTERVAL - 1 {
            scaler.update(false);
        }
        assert_eq!((scaler.scale, scaler.steady_steps), (32_768.0, 1999));
        scaler.update(false);
        assert_eq!((scaler.scale, scaler.steady_steps), (65_536.0, 0));
    }

    #[test]
    fn an_overflow_leaves_the_step_out() {
        let mut precision = Precision::Float16(Scaler::default());
        let gradients = [
            Tensor::from_slice(&[65_536.0_f32, 131_072.0]),
            Tensor::from_slice(&[-65_536.0_f32]),
        ];
        let handles = || gradients.iter().map(Tensor::shallow_clone).collect();
        assert_eq!(precision.unscale(handles), Ok(true));
        assert_eq!(Vec::<f32>::try_from(&gradients[0]).unwrap(), [1.0, 2.0]);
        assert_eq!(Vec::<f32>::try_from(&gradients[1]).unwrap(), [-1.0]);
        let overflow = || vec![Tensor::from_slice(&[1.0_f32, f32::INFINITY])];
        assert_eq!(precision.unscale(overflow), Ok(false));
        assert_eq!(precision.scaler().unwrap().scale, 32_768.0);
    }

    #[test]
    fn a_pass_computes_in_half_and_ends_with_it() {
        let x = Tensor::rand([1, 3, 8, 8], (Kind::Float, Device::Cpu));
        let weight = Tensor::rand([4, 3, 3, 3], (Kind::Float, Device::Cpu)).set_requires_grad(true);
        let pass = || x.conv2d::<Tensor>(&weight, None, [1, 1], [1, 1], [1, 1], 1);
        let y = Precision::BFloat16.run(Device::Cpu, pass).unwrap();
        assert_eq!((y.kind(), pass().kind()), (Kind::BFloat16, Kind::Float));
        y.sum(Kind::Float).backward();
        assert_eq!(weight.grad().kind(), Kind::Float);
        let failed = std::panic::catch_unwind(|| {
            Precision::BFloat16.run(Device::Cpu, || panic!("as tch does"))
        });
        assert!(failed.is_err());
        assert_eq!(pass().kind(), Kind::Float);
    }

    #[test]
    fn a_cpu_has_single_precision_alone() {
        let config = TrainConfig::default();
        assert!(config.amp);
        assert_eq!(Precision::of(&config, Device::Cpu, None), Precision::Single);
        let half = Precision::of(&config, Device::Cuda(0), None);
        assert_eq!(half.scaler(), Some(Scaler::default()));
    }
}
