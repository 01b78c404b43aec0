//! libtorch's store and its Gloo process group.
#![expect(unsafe_code, reason = "a foreign-function interface")]

use std::ffi::{CString, c_char, c_int};
use std::ptr::NonNull;
use std::time::Duration;

use tch::Tensor;
use torch_sys::C_tensor;

use super::error::{ShimError, check};

#[repr(C)]
struct Opaque {
    _private: [u8; 0],
}

unsafe extern "C" {
    fn gpurun_group_new(
        host: *const c_char,
        port: u16,
        rank: c_int,
        world: c_int,
        is_store_here: bool,
        interface: *const c_char,
        is_interface_name: bool,
        meeting_timeout_ms: i64,
        timeout_ms: i64,
        out: *mut *mut Opaque,
    ) -> c_int;
    fn gpurun_group_free(group: *mut Opaque);
    fn gpurun_group_all_reduce_sum(group: *mut Opaque, tensor: *mut C_tensor) -> c_int;
    fn gpurun_group_broadcast(group: *mut Opaque, tensor: *mut C_tensor, root: c_int) -> c_int;
    fn gpurun_group_barrier(group: *mut Opaque) -> c_int;
    fn gpurun_store_set(
        group: *mut Opaque,
        key: *const c_char,
        value: *const u8,
        length: usize,
    ) -> c_int;
    fn gpurun_store_get(
        group: *mut Opaque,
        key: *const c_char,
        timeout_ms: i64,
        buffer: *mut u8,
        length: *mut usize,
    ) -> c_int;
}

/// By what the others reach this process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Interface {
    /// The address that the host name stands for.
    OfHostName,
    /// An address or a host name.
    Address(String),
    /// A network interface, as `eth0`.
    Name(String),
}

/// Where processes meet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ProcessGroupConfig {
    /// Of the process that keeps the store.
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) rank: u32,
    pub(crate) world: u32,
    /// This process keeps the store, rather than connecting to it.
    pub(crate) is_store_here: bool,
    pub(crate) interface: Interface,
    /// How long all of them may take to come.
    pub(crate) meeting_timeout: Duration,
    /// How long one call may wait for the others.
    pub(crate) timeout: Duration,
}

/// Processes that sum and copy tensors of the CPU together.
#[derive(Debug)]
pub(crate) struct ProcessGroup {
    group: NonNull<Opaque>,
}

// SAFETY: the group is a reference-counted object of libtorch, which locks inside.
unsafe impl Send for ProcessGroup {}
// SAFETY: as above.
unsafe impl Sync for ProcessGroup {}

impl ProcessGroup {
    /// Waits for all processes.
    pub(crate) fn join(config: &ProcessGroupConfig) -> Result<Self, ShimError> {
        let text = |text: &str| {
            CString::new(text).map_err(|_| ShimError::Failed(format!("{text:?} is no host name")))
        };
        let host = text(&config.host)?;
        let (interface, is_name) = match &config.interface {
            Interface::OfHostName => ("", false),
            Interface::Address(address) => (address.as_str(), false),
            Interface::Name(name) => (name.as_str(), true),
        };
        let interface = text(interface)?;
        let mut group = std::ptr::null_mut();
        // SAFETY: the strings outlive the call, which copies them; `group` is written by it alone.
        check(unsafe {
            gpurun_group_new(
                host.as_ptr(),
                config.port,
                number(config.rank),
                number(config.world),
                config.is_store_here,
                interface.as_ptr(),
                is_name,
                milliseconds(config.meeting_timeout),
                milliseconds(config.timeout),
                &raw mut group,
            )
        })?;
        let group = NonNull::new(group).expect("a group that was made is not null");
        Ok(Self { group })
    }

    /// Replaces the tensor, in place and on every process, by the sum of all processes' tensors.
    pub(crate) fn all_reduce_sum(&self, tensor: &Tensor) -> Result<(), ShimError> {
        // SAFETY: a live group and a live tensor; the call returns when the sum is there.
        check(unsafe {
            gpurun_group_all_reduce_sum(self.group.as_ptr(), tensor.as_ptr().cast_mut())
        })
    }

    /// Replaces the tensor, in place, by that of process `root`.
    pub(crate) fn broadcast(&self, tensor: &Tensor, root: u32) -> Result<(), ShimError> {
        // SAFETY: as `all_reduce_sum`.
        check(unsafe {
            gpurun_group_broadcast(
                self.group.as_ptr(),
                tensor.as_ptr().cast_mut(),
                number(root),
            )
        })
    }

    /// Waits until every process is here.
    pub(crate) fn barrier(&self) -> Result<(), ShimError> {
        // SAFETY: a live group.
        check(unsafe { gpurun_group_barrier(self.group.as_ptr()) })
    }

    /// Leaves a value for the others.
    pub(crate) fn set(&self, key: &str, value: &[u8]) -> Result<(), ShimError> {
        let key = store_key(key)?;
        // SAFETY: `value` is `value.len()` bytes, copied by the call.
        check(unsafe {
            gpurun_store_set(
                self.group.as_ptr(),
                key.as_ptr(),
                value.as_ptr(),
                value.len(),
            )
        })
    }

    /// A value that another process left or leaves within `timeout`.
    pub(crate) fn get(&self, key: &str, timeout: Duration) -> Result<Vec<u8>, ShimError> {
        let key = store_key(key)?;
        let mut value = vec![0; 64 << 10];
        let mut length = value.len();
        // SAFETY: the buffer has `length` bytes, and no more are written.
        check(unsafe {
            gpurun_store_get(
                self.group.as_ptr(),
                key.as_ptr(),
                milliseconds(timeout),
                value.as_mut_ptr(),
                &raw mut length,
            )
        })?;
        value.truncate(length);
        Ok(value)
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        // SAFETY: made by `gpurun_group_new`, freed once.
        unsafe { gpurun_group_free(self.group.as_ptr()) }
    }
}

fn store_key(key: &str) -> Result<CString, ShimError> {
    CString::new(format!("gpurun/{key}"))
        .map_err(|_| ShimError::Failed(format!("{key:?} is no key")))
}

fn number(value: u32) -> c_int {
    c_int::try_from(value).unwrap_or(c_int::MAX)
}

fn milliseconds(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}
