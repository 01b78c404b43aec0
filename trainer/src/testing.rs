//! Reference data for tests.

use std::path::{Path, PathBuf};

use tch::Tensor;

/// Tensors of a file by name.
pub(crate) struct Tensors(Vec<(String, Tensor)>);

impl Tensors {
    /// A file of `tests/data`, which is always there.
    pub(crate) fn of_repository(name: &str) -> Self {
        Self::read(
            &Path::new(env!("CARGO_MANIFEST_DIR"))
                .join("tests/data")
                .join(name),
        )
    }

    /// A large file of the material beside the repository; says so when that is absent.
    pub(crate) fn of_shared(name: &str) -> Option<Self> {
        shared(name).map(|path| Self::read(&path))
    }

    fn read(path: &Path) -> Self {
        Self(Tensor::read_safetensors(path).expect("a safetensors file"))
    }

    pub(crate) fn get(&self, name: &str) -> &Tensor {
        let found = self.0.iter().find(|(key, _)| key == name);
        &found.unwrap_or_else(|| panic!("no tensor {name}")).1
    }

    pub(crate) fn as_state_dict(&self) -> &[(String, Tensor)] {
        &self.0
    }
}

/// A file of the reference data beside the repository, for the tests that need large ones.
#[expect(clippy::print_stderr, reason = "a skipped test says so")]
pub(crate) fn shared(name: &str) -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared");
    let root = std::env::var_os("GPURUN_SHARED").map_or_else(beside, PathBuf::from);
    let path = root.join("data/yolo9-golden").join(name);
    if path.exists() {
        return Some(path);
    }
    eprintln!(
        "skipped: {} is not there (GPURUN_SHARED names its folder)",
        path.display()
    );
    None
}

/// Largest absolute difference of two tensors of one shape.
pub(crate) fn distance(a: &Tensor, b: &Tensor) -> f64 {
    assert_eq!(a.size(), b.size());
    (a - b).abs().max().double_value(&[])
}
