//! The libtorch found at run time: exactly the version this program was built for, and CUDA.
//!
//! One binary serves both kinds of machine. It is linked against the CPU libraries only; where the
//! libtorch folder also holds `libtorch_cuda.so`, loading that registers the CUDA kernels.
#![expect(unsafe_code, reason = "loading a shared library runs its initialisers")]

use std::sync::OnceLock;

use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};
use tch::Device;

use crate::shim;

/// The one libtorch version this program works with; others crash in calls they seem to have.
pub const VERSION: &str = "2.13.0";

/// Why the libtorch of this machine cannot be used.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// The shared libraries are of another release.
    #[error(
        "libtorch {found} was loaded, but this program was built for libtorch {VERSION} and other \
         releases crash with it. Point LD_LIBRARY_PATH at the `lib` folder of a torch=={VERSION} \
         installation, or unset it to use the libtorch this program came with"
    )]
    Version {
        /// The version that the loaded library states.
        found: String,
    },
}

/// What was found at start.
#[derive(Debug, Clone)]
pub struct Libtorch {
    /// Why the CUDA kernels could not be loaded; `None` when they were. In the CPU set the file is
    /// simply absent.
    pub cuda_missing: Option<String>,
}

impl Libtorch {
    /// Number of CUDA devices that can be used, 0 without the CUDA libraries or a driver.
    #[must_use]
    pub fn cuda_devices(&self) -> i64 {
        if self.cuda_missing.is_some() {
            return 0;
        }
        tch::Cuda::device_count()
    }

    /// The first CUDA device, else the CPU.
    #[must_use]
    pub fn default_device(&self) -> Device {
        match self.cuda_devices() {
            0 => Device::Cpu,
            _ => Device::Cuda(0),
        }
    }
}

/// Checks the version and loads the CUDA kernels. To be called before any other use of libtorch;
/// later calls return the first one's answer.
///
/// # Errors
/// When the loaded libtorch is not [`VERSION`].
pub fn load() -> Result<&'static Libtorch, Error> {
    static LOADED: OnceLock<Result<Libtorch, Error>> = OnceLock::new();
    LOADED
        .get_or_init(|| {
            check_version(shim::abi_version())?;
            Ok(Libtorch {
                cuda_missing: load_cuda().err(),
            })
        })
        .as_ref()
        .map_err(Clone::clone)
}

fn check_version(abi: u64) -> Result<(), Error> {
    // One byte each for major, minor and patch, from the top.
    let found = format!("{}.{}.{}", abi >> 56, (abi >> 48) & 255, (abi >> 40) & 255);
    if found == VERSION {
        return Ok(());
    }
    Err(Error::Version { found })
}

fn load_cuda() -> Result<(), String> {
    // SAFETY: libtorch_cuda.so is made to be loaded into a process with libtorch_cpu.so of the same
    // release, which `check_version` has made sure of.
    let library = unsafe { Library::open(Some("libtorch_cuda.so"), RTLD_NOW | RTLD_GLOBAL) };
    // Its kernels stay registered, so it must stay loaded.
    std::mem::forget(library.map_err(|error| error.to_string())?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_libtorch_of_this_build_is_accepted() {
        let libtorch = load().expect("the build and the run use one libtorch");
        assert!(libtorch.cuda_devices() >= 0);
    }

    #[test]
    fn another_release_is_refused_by_its_version() {
        let error = check_version((2 << 56) | (14 << 48) | (1 << 40)).expect_err("2.14.1");
        let text = error.to_string();
        assert!(text.contains("libtorch 2.14.1 was loaded"), "{text}");
        assert!(text.contains("LD_LIBRARY_PATH"), "{text}");
    }
}
