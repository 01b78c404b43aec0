//! Ground truth as one tensor.

use tch::{Kind, Tensor};

/// Values of one target: class, x1, y1, x2, y2.
const FIELDS: usize = 5;
/// Class of a row that holds no target.
const NO_CLASS: f32 = -1.0;

/// Packs each image's targets (class, x1, y1, x2, y2) into `[B, M, 5]` on the CPU, where M is the
/// largest number of targets of an image and class -1 fills up. M is 0 when no image has any.
pub fn pad_targets(images: &[Vec<[f32; FIELDS]>]) -> Tensor {
    let rows = images.iter().map(Vec::len).max().unwrap_or(0);
    let mut values = Vec::with_capacity(images.len() * rows * FIELDS);
    for targets in images {
        values.extend(targets.iter().flatten());
        for _ in targets.len()..rows {
            values.extend([NO_CLASS, 0.0, 0.0, 0.0, 0.0]);
        }
    }
    let shape =
        [images.len(), rows, FIELDS].map(|length| i64::try_from(length).expect("fits in memory"));
    Tensor::from_slice(&values).to_kind(Kind::Float).view(shape)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_image_gives_the_rows() {
        let target = |class| [class, 0.1, 0.2, 0.3, 0.4];
        let tensor = pad_targets(&[vec![target(1.0)], vec![], vec![target(0.0), target(2.0)]]);
        assert_eq!(tensor.size(), [3, 2, 5]);
        let classes = Vec::<f32>::try_from(tensor.select(2, 0).flatten(0, -1)).expect("floats");
        assert_eq!(classes, [1.0, -1.0, -1.0, -1.0, 0.0, 2.0]);
    }

    #[test]
    fn no_targets_at_all_give_no_rows() {
        assert_eq!(pad_targets(&[vec![], vec![]]).size(), [2, 0, 5]);
    }
}
