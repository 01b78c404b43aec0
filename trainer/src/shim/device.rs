//! Memory, streams and modes of a device.
#![expect(unsafe_code, reason = "a foreign-function interface")]

use std::ffi::{c_int, c_void};

use tch::Device;

use super::error::{ShimError, check};

/// Memory of a CUDA device, in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct MemoryUse {
    /// In tensors now.
    pub(crate) allocated: i64,
    /// In tensors at most, since the last reset.
    pub(crate) peak_allocated: i64,
    /// Taken from the driver now.
    pub(crate) reserved: i64,
    /// Taken from the driver at most, since the last reset.
    pub(crate) peak_reserved: i64,
    /// Of the whole card, whoever uses it.
    pub(crate) free: u64,
    /// Of the whole card.
    pub(crate) total: u64,
    /// How often the driver was asked for memory, or given some back.
    pub(crate) driver_calls: i64,
}

impl MemoryUse {
    /// Calls of the driver between two looks.
    pub(crate) fn driver_calls_since(&self, before: &Self) -> f64 {
        (self.driver_calls - before.driver_calls) as f64
    }
}

unsafe extern "C" {
    fn aoti_torch_abi_version() -> u64;
    fn gpurun_cuda_memory(index: c_int, out: *mut MemoryUse) -> c_int;
    fn gpurun_cuda_reset_peak(index: c_int) -> c_int;
    fn gpurun_cuda_empty_cache() -> c_int;
    fn gpurun_cuda_set_device(index: c_int) -> c_int;
    fn gpurun_cuda_stream(index: c_int, out: *mut *mut c_void) -> c_int;
    fn gpurun_autocast(is_cuda: c_int, scalar_type: c_int) -> c_int;
    #[cfg(test)]
    fn gpurun_throw_out_of_memory() -> c_int;
}

/// The version of the loaded libtorch: a byte each for major, minor and patch, from the top.
pub(crate) fn abi_version() -> u64 {
    // SAFETY: takes nothing and only returns a constant.
    unsafe { aoti_torch_abi_version() }
}

/// What a CUDA device's memory is used for.
pub(crate) fn cuda_memory(index: usize) -> Result<MemoryUse, ShimError> {
    let mut out = MemoryUse::default();
    // SAFETY: `out` is written by the call alone, and has the layout of the C++ struct.
    check(unsafe { gpurun_cuda_memory(number(index), &raw mut out) })?;
    Ok(out)
}

/// Begins the peaks of [`MemoryUse`] anew.
pub(crate) fn reset_peak(index: usize) -> Result<(), ShimError> {
    // SAFETY: takes a number.
    check(unsafe { gpurun_cuda_reset_peak(number(index)) })
}

/// Gives what no tensor uses back to the driver, on all devices.
pub(crate) fn empty_cache() -> Result<(), ShimError> {
    // SAFETY: takes nothing.
    check(unsafe { gpurun_cuda_empty_cache() })
}

/// Makes a CUDA device this thread's current one.
pub(crate) fn set_device(index: usize) -> Result<(), ShimError> {
    // SAFETY: takes a number.
    check(unsafe { gpurun_cuda_set_device(number(index)) })
}

/// This thread's current stream on a CUDA device, a `cudaStream_t`; null is the default stream.
pub(crate) fn cuda_stream(index: usize) -> Result<*mut c_void, ShimError> {
    let mut stream = std::ptr::null_mut();
    // SAFETY: `stream` is written by the call alone.
    check(unsafe { gpurun_cuda_stream(number(index), &raw mut stream) })?;
    Ok(stream)
}

/// The types that mixed precision computes in, with libtorch's numbers for them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
pub(crate) enum HalfKind {
    Float16 = 5,
    BFloat16 = 15,
}

/// Switches automatic mixed precision on for this thread, with the type that convolutions run in, or off.
pub(crate) fn set_autocast(device: Device, kind: Option<HalfKind>) -> Result<(), ShimError> {
    let kind = kind.map_or(-1, |kind| kind as c_int);
    // SAFETY: takes numbers; `kind` is one of libtorch's own.
    check(unsafe { gpurun_autocast(c_int::from(device.is_cuda()), kind) })
}

fn number(index: usize) -> c_int {
    c_int::try_from(index).unwrap_or(c_int::MAX)
}

#[cfg(test)]
mod tests {
    use tch::{Kind, Tensor};

    use super::*;

    #[test]
    fn a_full_device_is_told_from_other_failures() {
        // SAFETY: takes nothing.
        let error = check(unsafe { gpurun_throw_out_of_memory() }).unwrap_err();
        assert!(matches!(error, ShimError::OutOfMemory(_)), "{error:?}");
        assert!(error.to_string().contains("3.00 GiB"), "{error}");
    }

    #[test]
    fn without_cuda_its_memory_is_an_error() {
        if tch::Cuda::is_available() {
            return;
        }
        assert!(matches!(cuda_memory(0), Err(ShimError::Failed(_))));
        assert!(cuda_stream(0).is_err());
        assert!(set_device(0).is_err());
    }

    #[test]
    fn convolutions_run_in_the_chosen_type() {
        let x = Tensor::rand([1, 3, 8, 8], (Kind::Float, Device::Cpu));
        let weight = Tensor::rand([4, 3, 3, 3], (Kind::Float, Device::Cpu));
        let kind = || {
            x.conv2d::<Tensor>(&weight, None, [1, 1], [1, 1], [1, 1], 1)
                .kind()
        };
        set_autocast(Device::Cpu, Some(HalfKind::BFloat16)).unwrap();
        let inside = kind();
        set_autocast(Device::Cpu, None).unwrap();
        assert_eq!((inside, kind()), (Kind::BFloat16, Kind::Float));
    }
}
