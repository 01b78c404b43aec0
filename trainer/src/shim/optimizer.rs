//! Optimizer steps on all tensors at once.
#![expect(unsafe_code, reason = "a foreign-function interface")]

use std::ffi::c_int;

use tch::Tensor;
use torch_sys::C_tensor;

use super::error::{ShimError, check};

unsafe extern "C" {
    fn gpurun_fused_sgd(
        parameters: *const *const C_tensor,
        gradients: *const *const C_tensor,
        momenta: *const *const C_tensor,
        count: usize,
        options: *const FusedSgd,
    ) -> c_int;
    fn gpurun_foreach_lerp(
        targets: *const *const C_tensor,
        sources: *const *const C_tensor,
        count: usize,
        weight: f64,
    ) -> c_int;
    fn gpurun_clear_gradients(tensors: *const *const C_tensor, count: usize) -> c_int;
}

/// The scalars of one fused SGD step.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(crate) struct FusedSgd {
    pub(crate) learning_rate: f64,
    pub(crate) momentum: f64,
    pub(crate) weight_decay: f64,
    pub(crate) nesterov: bool,
    /// The momentum buffers hold nothing yet.
    pub(crate) first_step: bool,
}

/// One SGD step on all parameters at once, in place.
pub(crate) fn fused_sgd(
    parameters: &[Tensor],
    gradients: &[Tensor],
    momenta: &[Tensor],
    options: FusedSgd,
) -> Result<(), ShimError> {
    assert!(
        parameters.len() == gradients.len() && parameters.len() == momenta.len(),
        "one gradient and one momentum buffer per parameter"
    );
    let (p, g, m) = (pointers(parameters), pointers(gradients), pointers(momenta));
    // SAFETY: three arrays of `p.len()` live tensors; the call keeps none of them.
    check(unsafe {
        gpurun_fused_sgd(
            p.as_ptr(),
            g.as_ptr(),
            m.as_ptr(),
            p.len(),
            &raw const options,
        )
    })
}

/// `target += weight * (source - target)` for all pairs at once.
pub(crate) fn foreach_lerp(
    targets: &[Tensor],
    sources: &[Tensor],
    weight: f64,
) -> Result<(), ShimError> {
    assert!(targets.len() == sources.len(), "one source per target");
    let (t, s) = (pointers(targets), pointers(sources));
    // SAFETY: two arrays of `t.len()` live tensors; the call keeps none of them.
    check(unsafe { gpurun_foreach_lerp(t.as_ptr(), s.as_ptr(), t.len(), weight) })
}

/// Drops the tensors' gradients: afterwards they have none.
pub(crate) fn clear_gradients(tensors: &[Tensor]) -> Result<(), ShimError> {
    let t = pointers(tensors);
    // SAFETY: an array of `t.len()` live tensors; the call keeps none of them.
    check(unsafe { gpurun_clear_gradients(t.as_ptr(), t.len()) })
}

fn pointers(tensors: &[Tensor]) -> Vec<*const C_tensor> {
    tensors.iter().map(Tensor::as_ptr).collect()
}
