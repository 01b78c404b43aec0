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
    fn gpurun_fused_adam(
        parameters: *const *const C_tensor,
        gradients: *const *const C_tensor,
        averages: *const *const C_tensor,
        squares: *const *const C_tensor,
        steps: *const *const C_tensor,
        count: usize,
        options: *const FusedAdam,
    ) -> c_int;
    fn gpurun_foreach_lerp(
        targets: *const *const C_tensor,
        sources: *const *const C_tensor,
        count: usize,
        weight: f64,
    ) -> c_int;
    fn gpurun_unscale(
        tensors: *const *const C_tensor,
        count: usize,
        factor: f64,
        is_finite: *mut bool,
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

/// The scalars of one fused Adam step.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(crate) struct FusedAdam {
    pub(crate) learning_rate: f64,
    pub(crate) beta1: f64,
    pub(crate) beta2: f64,
    pub(crate) weight_decay: f64,
    pub(crate) epsilon: f64,
    /// Weight decay shrinks the weights, instead of joining the gradient.
    pub(crate) decoupled: bool,
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

/// One Adam step on all parameters at once, in place. The lists are parameters, gradients, averages, averages of
/// squares, and step counts, which count this step already.
pub(crate) fn fused_adam(lists: [&[Tensor]; 5], options: FusedAdam) -> Result<(), ShimError> {
    let count = lists[0].len();
    assert!(
        lists.iter().all(|list| list.len() == count),
        "one of each per parameter"
    );
    let [p, g, a, s, n] = lists.map(pointers);
    // SAFETY: five arrays of `count` live tensors; the call keeps none of them.
    check(unsafe {
        gpurun_fused_adam(
            p.as_ptr(),
            g.as_ptr(),
            a.as_ptr(),
            s.as_ptr(),
            n.as_ptr(),
            count,
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

/// Multiplies all tensors in place; whether all their values were finite.
pub(crate) fn unscale(tensors: &[Tensor], factor: f64) -> Result<bool, ShimError> {
    let t = pointers(tensors);
    let mut is_finite = true;
    // SAFETY: an array of `t.len()` live tensors; `is_finite` is written by the call alone.
    check(unsafe { gpurun_unscale(t.as_ptr(), t.len(), factor, &raw mut is_finite) })?;
    Ok(is_finite)
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
