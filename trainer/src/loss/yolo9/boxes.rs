//! Boxes as four tensors, and how well two of them agree.

use std::f64::consts::PI;

use tch::Tensor;

const EPSILON: f64 = 1e-7;

/// Corners of many boxes: four tensors of one shape.
#[derive(Debug)]
pub(super) struct Boxes {
    pub(super) x1: Tensor,
    pub(super) y1: Tensor,
    pub(super) x2: Tensor,
    pub(super) y2: Tensor,
}

impl Boxes {
    /// Splits a tensor whose dimension `dim` holds x1, y1, x2, y2.
    pub(super) fn unbind(tensor: &Tensor, dim: i64) -> Self {
        let side = |index| tensor.select(dim, index);
        Self {
            x1: side(0),
            y1: side(1),
            x2: side(2),
            y2: side(3),
        }
    }

    /// The same boxes with a dimension of length 1 more, to be broadcast.
    pub(super) fn unsqueeze(&self, dim: i64) -> Self {
        let Self { x1, y1, x2, y2 } = self;
        let [x1, y1, x2, y2] = [x1, y1, x2, y2].map(|side| side.unsqueeze(dim));
        Self { x1, y1, x2, y2 }
    }

    fn width(&self) -> Tensor {
        &self.x2 - &self.x1
    }

    fn height(&self) -> Tensor {
        &self.y2 - &self.y1
    }

    /// Angle of the diagonal, by which aspect ratios are compared.
    fn aspect(&self) -> Tensor {
        (self.width() / (self.height() + EPSILON)).atan()
    }
}

/// Complete IoU (Zheng et al., "Distance-IoU Loss", 2020): overlap, less the distance of the
/// centres, less the difference of the aspect ratios. At most 1; shapes are broadcast.
pub(super) fn complete_iou(a: &Boxes, b: &Boxes) -> Tensor {
    let overlap = |low_a: &Tensor, low_b: &Tensor, high_a: &Tensor, high_b: &Tensor| {
        (high_a.minimum(high_b) - low_a.maximum(low_b)).clamp_min_(0.0)
    };
    let span = |low_a: &Tensor, low_b: &Tensor, high_a: &Tensor, high_b: &Tensor| {
        (high_a.maximum(high_b) - low_a.minimum(low_b)).square()
    };
    let area = |boxes: &Boxes| boxes.width() * boxes.height();
    let offset = |low_a: &Tensor, low_b: &Tensor, high_a: &Tensor, high_b: &Tensor| {
        ((low_a + high_a) / 2.0 - (low_b + high_b) / 2.0).square()
    };
    let horizontal = (&a.x1, &b.x1, &a.x2, &b.x2);
    let vertical = (&a.y1, &b.y1, &a.y2, &b.y2);
    let both = |measure: &dyn Fn(&Tensor, &Tensor, &Tensor, &Tensor) -> Tensor| {
        let [x, y] = [horizontal, vertical].map(|(la, lb, ha, hb)| measure(la, lb, ha, hb));
        (x, y)
    };

    let (x, y) = both(&overlap);
    let intersection = x * y;
    let union = area(a) + area(b) - &intersection;
    let iou = intersection / (union + EPSILON);

    let (x, y) = both(&offset);
    let distance = x + y;
    let (x, y) = both(&span);
    let diagonal = x + y + EPSILON;

    let aspect = (a.aspect() - b.aspect()).square() * (4.0 / (PI * PI));
    let weight = tch::no_grad(|| &aspect / (&aspect - &iou + (1.0 + EPSILON)));
    iou - distance / diagonal - weight * aspect
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ciou(a: [f32; 4], b: [f32; 4]) -> f64 {
        let boxes = |sides: [f32; 4]| Boxes::unbind(&Tensor::from_slice(&sides), 0);
        complete_iou(&boxes(a), &boxes(b)).double_value(&[])
    }

    #[test]
    fn equal_boxes_agree_wholly() {
        assert!((ciou([1., 2., 5., 4.], [1., 2., 5., 4.]) - 1.0).abs() < 1e-6);
    }

    #[test]
    fn overlap_distance_and_aspect_all_count() {
        // Half overlap, centres 1 apart, squares: 1/3 less 1/13.
        let half = ciou([0., 0., 2., 2.], [1., 0., 3., 2.]);
        assert!((half - (1.0 / 3.0 - 1.0 / 13.0)).abs() < 1e-6, "{half}");
        // Same centre, other aspect: 4 of 12 overlap.
        let aspect = 4.0 / (PI * PI) * (1_f64.atan() - 4_f64.atan()).powi(2);
        let expected = 0.25 - aspect * aspect / (aspect + 0.75);
        let found = ciou([0., 0., 2., 2.], [-3., 0., 5., 2.]);
        assert!((found - expected).abs() < 1e-5, "{found}, not {expected}");
        assert!(ciou([0., 0., 1., 1.], [5., 5., 6., 6.]) < 0.0);
    }
}
