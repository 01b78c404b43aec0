//! Batch normalisation over the batches of several processes.
#![expect(unsafe_code, reason = "a foreign-function interface")]

use std::ffi::{c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};

use tch::Tensor;
use torch_sys::C_tensor;

use super::error::{ShimError, check};

/// Replaces a tensor, in place and on every process, by the sum of all processes' tensors.
pub(crate) type AllReduceSum = dyn Fn(&Tensor) -> Result<(), ShimError> + Send + Sync;

/// The processes whose batches are one batch.
pub struct SyncGroup(Box<AllReduceSum>);

impl SyncGroup {
    /// The backward pass sums too, whenever libtorch runs it: the group lives as long as the process.
    pub(crate) fn leaked(all_reduce_sum: Box<AllReduceSum>) -> &'static Self {
        Box::leak(Box::new(Self(all_reduce_sum)))
    }
}

impl std::fmt::Debug for SyncGroup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SyncGroup")
    }
}

/// A layer's tensors, `[C]` each, and constants.
#[derive(Debug)]
pub(crate) struct SyncBatchNorm<'a> {
    pub(crate) weight: &'a Tensor,
    pub(crate) bias: &'a Tensor,
    /// Updated by the call, as is `running_var`, which takes the unbiased variance.
    pub(crate) running_mean: &'a Tensor,
    pub(crate) running_var: &'a Tensor,
    pub(crate) momentum: f64,
    pub(crate) epsilon: f64,
}

type AllReduceCall = unsafe extern "C" fn(*const c_void, *mut C_tensor) -> c_int;

unsafe extern "C" {
    fn gpurun_sync_batch_norm(
        x: *const C_tensor,
        weight: *const C_tensor,
        bias: *const C_tensor,
        running_mean: *const C_tensor,
        running_var: *const C_tensor,
        momentum: f64,
        epsilon: f64,
        call: AllReduceCall,
        group: *const c_void,
        y: *mut *mut C_tensor,
    ) -> c_int;
}

/// Normalises `x`, `[B, C, H, W]`, by the statistics of all processes' batches together. Differentiable: the
/// gradient of `x` is that of the sum of all processes' losses; those of weight and bias are this process's
/// share of theirs.
///
/// Every process must make the same calls in the same order, here and in the backward pass.
pub(crate) fn sync_batch_norm(
    x: &Tensor,
    layer: &SyncBatchNorm<'_>,
    group: &'static SyncGroup,
) -> Result<Tensor, ShimError> {
    let mut y = std::ptr::null_mut();
    // SAFETY: live tensors; `group` lives for ever; `y` is written by the call alone.
    check(unsafe {
        gpurun_sync_batch_norm(
            x.as_ptr(),
            layer.weight.as_ptr(),
            layer.bias.as_ptr(),
            layer.running_mean.as_ptr(),
            layer.running_var.as_ptr(),
            layer.momentum,
            layer.epsilon,
            all_reduce,
            std::ptr::from_ref(group).cast(),
            &raw mut y,
        )
    })?;
    // SAFETY: a new tensor, owned by nobody else.
    Ok(unsafe { Tensor::from_ptr(y) })
}

unsafe extern "C" fn all_reduce(group: *const c_void, tensor: *mut C_tensor) -> c_int {
    // SAFETY: what `sync_batch_norm` passed, which lives for ever.
    let group: &SyncGroup = unsafe { &*group.cast() };
    // SAFETY: the caller's tensor, alive during this call; the clone is another handle to the same values.
    let tensor = unsafe { Tensor::clone_from_ptr(tensor) };
    // A panic must not unwind into C++.
    match catch_unwind(AssertUnwindSafe(|| group.0(&tensor))) {
        Ok(Ok(())) => 0,
        Ok(Err(error)) => {
            tracing::debug!("{error}");
            1
        }
        Err(_) => 1,
    }
}

#[cfg(test)]
mod tests {
    use tch::{Device, Kind};

    use super::*;

    const FLOAT: (Kind, Device) = (Kind::Float, Device::Cpu);
    const MOMENTUM: f64 = 0.03;
    const EPSILON: f64 = 1e-3;

    struct Layer {
        weight: Tensor,
        bias: Tensor,
        running_mean: Tensor,
        running_var: Tensor,
    }

    impl Layer {
        fn new() -> Self {
            Self {
                weight: Tensor::linspace(0.5, 1.5, 5, FLOAT).set_requires_grad(true),
                bias: Tensor::linspace(-1.0, 1.0, 5, FLOAT).set_requires_grad(true),
                running_mean: Tensor::zeros([5], FLOAT),
                running_var: Tensor::ones([5], FLOAT),
            }
        }

        /// Output, gradients of x, weight and bias, and the statistics.
        fn results(self, x: &Tensor, y: &Tensor, slopes: &Tensor) -> Vec<Tensor> {
            (y * slopes).sum(Kind::Float).backward();
            let mut results = vec![y.detach(), x.grad(), self.weight.grad(), self.bias.grad()];
            results.extend([self.running_mean, self.running_var]);
            results
        }

        fn alone(self, x: &Tensor, slopes: &Tensor) -> Vec<Tensor> {
            let y = x.batch_norm(
                Some(&self.weight),
                Some(&self.bias),
                Some(&self.running_mean),
                Some(&self.running_var),
                true,
                MOMENTUM,
                EPSILON,
                false,
            );
            self.results(x, &y, slopes)
        }

        fn together(self, x: &Tensor, slopes: &Tensor, group: &'static SyncGroup) -> Vec<Tensor> {
            let layer = SyncBatchNorm {
                weight: &self.weight,
                bias: &self.bias,
                running_mean: &self.running_mean,
                running_var: &self.running_var,
                momentum: MOMENTUM,
                epsilon: EPSILON,
            };
            let y = sync_batch_norm(x, &layer, group).unwrap();
            self.results(x, &y, slopes)
        }
    }

    fn assert_close(found: &[Tensor], expected: &[Tensor]) {
        for (index, (found, expected)) in found.iter().zip(expected).enumerate() {
            let error = (found - expected).abs().max().double_value(&[]);
            let scale = expected.abs().max().double_value(&[]);
            assert!(
                error <= 1e-5 * scale.max(1.0),
                "result {index}: {error:e} of {scale}"
            );
        }
    }

    fn input() -> (Tensor, Tensor) {
        // A mean far from 0 would show a variance taken as a difference of large numbers.
        let numbers = Tensor::arange(3 * 5 * 4 * 6, FLOAT).view([3, 5, 4, 6]);
        let x = (numbers.sin() + 30.0).set_requires_grad(true);
        (x, (numbers * 0.7).cos())
    }

    #[test]
    fn one_process_is_plain_batch_normalisation() {
        let group = SyncGroup::leaked(Box::new(|_| Ok(())));
        let (x, slopes) = input();
        let found = Layer::new().together(&x, &slopes, group);
        let (x, slopes) = input();
        assert_close(&found, &Layer::new().alone(&x, &slopes));
    }

    #[test]
    fn two_processes_with_the_same_batch_are_one_with_it_twice() {
        let group = SyncGroup::leaked(Box::new(|tensor| {
            let _ = tensor.shallow_clone().g_mul_scalar_(2.0);
            Ok(())
        }));
        let (x, slopes) = input();
        let found = Layer::new().together(&x, &slopes, group);

        let (x, slopes) = input();
        let twice = Tensor::cat(&[&x, &x], 0).detach().set_requires_grad(true);
        let mut expected = Layer::new().alone(&twice, &Tensor::cat(&[&slopes, &slopes], 0));
        for half in &mut expected[..2] {
            *half = half.narrow(0, 0, 3);
        }
        for share in &mut expected[2..4] {
            *share = &*share / 2.0;
        }
        assert_close(&found, &expected);
    }

    #[test]
    fn a_failed_sum_is_an_error() {
        let group = SyncGroup::leaked(Box::new(|_| Err(ShimError::Failed("gone".to_owned()))));
        let (x, _) = input();
        let layer = Layer::new();
        let layer = SyncBatchNorm {
            weight: &layer.weight,
            bias: &layer.bias,
            running_mean: &layer.running_mean,
            running_var: &layer.running_var,
            momentum: MOMENTUM,
            epsilon: EPSILON,
        };
        assert!(sync_batch_norm(&x, &layer, group).is_err());
    }
}
