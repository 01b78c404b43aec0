//! Weights from safetensors files.

use std::path::Path;

use tch::Tensor;

use super::error::{CheckpointError, Problem};
use super::tensor::StateDict;

/// Reads all tensors of a `.safetensors` file, on the CPU, sorted by name.
///
/// # Errors
/// When the file can't be read, is damaged, or holds a kind of tensor libtorch lacks.
pub fn read_safetensors(path: &Path) -> Result<StateDict, CheckpointError> {
    // libtorch's bindings give no I/O error kind of their own, so the file is tried first.
    std::fs::File::open(path).map_err(|e| Problem::Io(e).at(path))?;
    let mut tensors =
        Tensor::read_safetensors(path).map_err(|e| Problem::damaged(e.to_string()).at(path))?;
    tensors.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(tensors)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use proptest::prelude::*;
    use tch::Kind;

    use super::*;

    fn write_to(path: &Path) {
        let tensors = [
            (
                "b",
                Tensor::arange(6, (Kind::Float, tch::Device::Cpu)).view([2, 3]),
            ),
            ("a", Tensor::from_slice(&[1_i64, 2])),
        ];
        Tensor::write_safetensors(&tensors, path).unwrap();
    }

    #[test]
    fn tensors_come_sorted_by_name() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("w.safetensors");
        write_to(&path);
        let tensors = read_safetensors(&path).unwrap();
        assert_eq!(
            (tensors[0].0.as_str(), tensors[1].1.size()),
            ("a", vec![2, 3])
        );
    }

    #[test]
    fn a_missing_or_empty_file_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("w.safetensors");
        assert!(matches!(
            read_safetensors(&path).unwrap_err().problem,
            Problem::Io(_)
        ));
        fs::write(&path, b"").unwrap();
        assert!(matches!(
            read_safetensors(&path).unwrap_err().problem,
            Problem::Damaged(_)
        ));
    }

    /// Sizes whose product wraps round to the data's.
    #[test]
    fn a_forged_shape_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("w.safetensors");
        for shape in [
            "[4611686018427387904,4]",
            "[4294967296,4294967296]",
            "[9223372036854775807]",
        ] {
            let header =
                format!(r#"{{"a":{{"dtype":"F32","shape":{shape},"data_offsets":[0,0]}}}}"#);
            let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
            bytes.extend(header.as_bytes());
            fs::write(&path, bytes).unwrap();
            assert!(read_safetensors(&path).is_err(), "{shape}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn damage_never_panics(
            flips in prop::collection::vec((any::<prop::sample::Index>(), prop_oneof![any::<u8>(), b'0'..=b'9']), 1..12),
        ) {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("w.safetensors");
            write_to(&path);
            let mut bytes = fs::read(&path).unwrap();
            for (index, byte) in flips {
                let index = index.index(bytes.len());
                bytes[index] = byte;
            }
            fs::write(&path, bytes).unwrap();
            let _ = read_safetensors(&path);
        }
    }
}
