//! Reference data for tests.

use std::path::{Path, PathBuf};

use tch::{Device, Kind, Tensor};

use crate::model::Network;

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

/// Numbers in [0, 1) that look random: of a tensor's index and of its number.
pub(crate) fn noise(shape: &[i64], row: usize) -> Tensor {
    let count: i64 = shape.iter().product();
    #[expect(clippy::cast_precision_loss, reason = "a few hundred")]
    let phase = row as f64 * 78.233;
    let waves = (Tensor::arange(count, (Kind::Double, Device::Cpu)) * 12.9898 + phase).sin();
    let waves = waves * 43_758.545_3;
    (&waves - waves.floor()).view(shape)
}

/// Gives a network weights of a formula in place of those it drew: the generator is shared with the tests that run
/// beside.
pub(crate) fn redraw(model: &Network, seed: usize) {
    let drawn = model.parameters().into_iter().enumerate();
    for (row, parameter) in drawn {
        let shape = parameter.tensor.size();
        if shape.len() == 4 || parameter.name.contains("reg_preds") {
            let fan_in: i64 = shape[1..].iter().product();
            #[expect(clippy::cast_precision_loss, reason = "a few thousand")]
            let bound = 1.0 / (fan_in as f64).sqrt();
            let values = (noise(&shape, 1000 * seed + row) * 2.0 - 1.0) * bound;
            tch::no_grad(|| parameter.tensor.shallow_clone().copy_(&values));
        }
    }
}

/// What LibreYOLO's YOLOX computes, as `tests/data/make_yolox_golden.py` wrote it down.
pub(crate) mod yolox {
    use std::fs;
    use std::path::Path;

    use tch::{Device, Kind, Tensor};

    use super::noise;
    use crate::loss::pad_targets;
    use crate::model::{Network, YoloxConfig, YoloxSize};

    /// The sizes that are recorded.
    pub(crate) const SIZES: [YoloxSize; 3] = [YoloxSize::N, YoloxSize::T, YoloxSize::S];
    /// Of the three images, in pixels.
    pub(crate) const SIDE: i64 = 128;

    pub(crate) fn facts() -> serde_json::Value {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/yolox_golden.json");
        serde_json::from_str(&fs::read_to_string(path).expect("a file of the repository"))
            .expect("JSON")
    }

    pub(crate) fn floats(list: &serde_json::Value) -> Vec<f64> {
        serde_json::from_value(list.clone()).expect("a list of numbers")
    }

    /// Bytes as pixels, `[3, 3, 128, 128]`.
    pub(crate) fn images() -> Tensor {
        (noise(&[3, 3, SIDE, SIDE], 0) * 255.0).to_kind(Kind::Float)
    }

    /// As a batch has them: the recorded boxes, of one image none.
    pub(crate) fn targets() -> Tensor {
        let boxes = |all: &[[f32; 5]]| -> Vec<[f32; 5]> {
            all.iter()
                .map(|[class, x, y, width, height]| {
                    let (half_width, half_height) = (width / 2.0, height / 2.0);
                    let corners = [
                        x - half_width,
                        y - half_height,
                        x + half_width,
                        y + half_height,
                    ];
                    let [x1, y1, x2, y2] = corners.map(|edge| edge / SIDE as f32);
                    [*class, x1, y1, x2, y2]
                })
                .collect()
        };
        pad_targets(&[
            boxes(&[
                [0.0, 40.0, 44.0, 48.0, 40.0],
                [2.0, 44.0, 44.0, 44.0, 44.0],
                [1.0, 96.0, 88.0, 20.0, 30.0],
            ]),
            vec![],
            boxes(&[
                [1.0, 64.0, 64.0, 120.0, 112.0],
                [0.0, 10.0, 118.0, 7.0, 5.0],
            ]),
        ])
    }

    /// The recorded network of three classes.
    pub(crate) fn network(size: YoloxSize) -> Network {
        let model = Network::new(YoloxConfig { size, nc: 3 }, Device::Cpu);
        let state: Vec<_> = model
            .state_dict()
            .into_iter()
            .enumerate()
            .map(|(row, (name, tensor))| {
                let shape = tensor.size();
                let u = noise(&shape, row);
                let value = if name.ends_with("num_batches_tracked") {
                    tensor.copy()
                } else if shape.len() == 4 {
                    let fan_in: i64 = shape[1..].iter().product();
                    #[expect(clippy::cast_precision_loss, reason = "a few thousand")]
                    let bound = (3.0 / fan_in as f64).sqrt();
                    (u * 2.0 - 1.0) * bound
                } else if name.ends_with("running_var") || name.ends_with("bn.weight") {
                    u * 0.5 + 0.75
                } else {
                    (u * 2.0 - 1.0) * 0.2
                };
                (name, value)
            })
            .collect();
        let report = model.load_state_dict(&state).expect("its own names");
        assert!(report.is_complete());
        model
    }
}
