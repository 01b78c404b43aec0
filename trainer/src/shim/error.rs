//! What a call came to.
#![expect(unsafe_code, reason = "a foreign-function interface")]

use std::ffi::{CStr, c_char, c_int};

/// An exception of libtorch, as its text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ShimError {
    /// The device has no memory left for this.
    #[error("{0}")]
    OutOfMemory(String),
    /// Anything else.
    #[error("libtorch: {0}")]
    Failed(String),
}

unsafe extern "C" {
    fn gpurun_last_error() -> *const c_char;
}

/// Mirrors `gpurun::Status` in shim/guarded.h.
const OUT_OF_MEMORY: c_int = 2;

pub(super) fn check(status: c_int) -> Result<(), ShimError> {
    if status == 0 {
        return Ok(());
    }
    // SAFETY: a NUL-terminated string that lives until this thread's next failure.
    let text = unsafe { CStr::from_ptr(gpurun_last_error()) };
    // A C++ backtrace may follow the first line.
    let text = text.to_string_lossy();
    let text = text.lines().next().unwrap_or_default().to_owned();
    Err(match status {
        OUT_OF_MEMORY => ShimError::OutOfMemory(text),
        _ => ShimError::Failed(text),
    })
}
