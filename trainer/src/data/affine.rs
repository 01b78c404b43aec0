//! Random affine: scale, rotation, shear and shift about the origin, of an image and its boxes.

use fastrand::Rng;
use gpurun_dataset::RgbImage;

use super::FILL;
use super::random::uniform;
use super::resample::{Tap, resample};
use super::transform::{AugmentConfig, PixelBox};

/// `[a, b, tx, c, d, ty]`: a source point `(x, y)` goes to `(a x + b y + tx, c x + d y + ty)`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Affine([f64; 6]);

impl Affine {
    /// Draws one for a target of this size, in the order angle, scale, shears, shifts.
    pub(super) fn random(target: (u32, u32), config: &AugmentConfig, random: &mut Rng) -> Self {
        let angle = uniform(random, -config.degrees, config.degrees);
        let scale = uniform(random, config.scale.0, config.scale.1);
        let shear = [(); 2].map(|()| uniform(random, -config.shear, config.shear));
        let [shift_x, shift_y] =
            [(); 2].map(|()| uniform(random, -config.translate, config.translate));
        Self::new(
            angle,
            scale,
            shear,
            [shift_x * f64::from(target.0), shift_y * f64::from(target.1)],
        )
    }

    /// Rotation by `angle` degrees and scaling, then shear in degrees along x and y, then a shift in pixels.
    fn new(angle: f64, scale: f64, shear: [f64; 2], shift: [f64; 2]) -> Self {
        let (sin, cos) = angle.to_radians().sin_cos();
        let (upper, lower) = ([scale * cos, scale * sin], [-scale * sin, scale * cos]);
        let [along_x, along_y] = shear.map(|degrees| degrees.to_radians().tan());
        Self([
            upper[0] + along_y * lower[0],
            upper[1] + along_y * lower[1],
            shift[0],
            lower[0] + along_x * upper[0],
            lower[1] + along_x * upper[1],
            shift[1],
        ])
    }

    fn apply(&self, x: f64, y: f64) -> (f64, f64) {
        let [a, b, tx, c, d, ty] = self.0;
        (a * x + b * y + tx, c * x + d * y + ty)
    }

    fn inverse(&self) -> Self {
        let [a, b, tx, c, d, ty] = self.0;
        let determinant = a * d - b * c;
        let (a, b, c, d) = (
            d / determinant,
            -b / determinant,
            -c / determinant,
            a / determinant,
        );
        Self([a, b, -(a * tx + b * ty), c, d, -(c * tx + d * ty)])
    }

    /// The image as it appears in a target of this size; [`FILL`] where there is none of it.
    pub(super) fn warp(&self, source: &RgbImage, target: (u32, u32)) -> RgbImage {
        let back = self.inverse();
        let [a, b, tx, c, d, ty] = back.0;
        if b == 0.0 && c == 0.0 {
            // Without rotation and shear columns and rows are independent, which is several times faster.
            let taps = |length: u32, scale: f64, shift: f64, source: u32| -> Vec<Tap> {
                (0..length)
                    .map(|index| Tap::at(scale * f64::from(index) + shift, source as usize))
                    .collect()
            };
            return resample(
                source,
                &taps(target.0, a, tx, source.width),
                &taps(target.1, d, ty, source.height),
            );
        }
        let mut pixels = Vec::with_capacity(target.0 as usize * target.1 as usize * 3);
        for y in 0..target.1 {
            for x in 0..target.0 {
                let (x, y) = back.apply(f64::from(x), f64::from(y));
                pixels.extend_from_slice(&sample(source, x, y));
            }
        }
        RgbImage {
            width: target.0,
            height: target.1,
            pixels,
        }
    }

    /// The upright hull of a box after the transform, clipped to the target.
    pub(super) fn warp_box(&self, box_: PixelBox, target: (u32, u32)) -> PixelBox {
        let [x1, y1, x2, y2] = box_.corners.map(f64::from);
        let corners = [(x1, y1), (x2, y2), (x1, y2), (x2, y1)].map(|(x, y)| self.apply(x, y));
        let hull = |pick: fn(&(f64, f64)) -> f64, limit: u32| {
            let low = corners.iter().map(pick).fold(f64::INFINITY, f64::min);
            let high = corners.iter().map(pick).fold(f64::NEG_INFINITY, f64::max);
            [low, high].map(|edge| edge.clamp(0.0, f64::from(limit)) as f32)
        };
        let ([x1, x2], [y1, y2]) = (
            hull(|corner| corner.0, target.0),
            hull(|corner| corner.1, target.1),
        );
        PixelBox {
            corners: [x1, y1, x2, y2],
            ..box_
        }
    }
}

fn sample(source: &RgbImage, x: f64, y: f64) -> [u8; 3] {
    let (left, top) = (x.floor(), y.floor());
    let (fx, fy) = ((x - left) as f32, (y - top) as f32);
    let pixel = |column: f64, row: f64| -> [u8; 3] {
        if column < 0.0
            || row < 0.0
            || column >= f64::from(source.width)
            || row >= f64::from(source.height)
        {
            return [FILL; 3];
        }
        let offset = (row as usize * source.width as usize + column as usize) * 3;
        [
            source.pixels[offset],
            source.pixels[offset + 1],
            source.pixels[offset + 2],
        ]
    };
    let corners = [
        pixel(left, top),
        pixel(left + 1.0, top),
        pixel(left, top + 1.0),
        pixel(left + 1.0, top + 1.0),
    ];
    [0, 1, 2].map(|channel| {
        let [a, b, c, d] = corners.map(|corner| f32::from(corner[channel]));
        let (upper, lower) = (a + (b - a) * fx, c + (d - c) * fx);
        (upper + (lower - upper) * fy).round() as u8
    })
}

#[cfg(test)]
mod tests {
    use super::super::random::tests::{golden, picture};
    use super::*;

    #[test]
    fn matrix_and_pixels_equal_opencv() {
        for case in golden("affine") {
            let pair = |key: &str| -> [f64; 2] {
                serde_json::from_value(case[key].clone()).expect("a pair")
            };
            let number = |key: &str| case[key].as_f64().expect("a number");
            let affine = Affine::new(
                number("angle"),
                number("scale"),
                pair("shear"),
                pair("shift"),
            );
            let matrix: Vec<f64> =
                serde_json::from_value(case["matrix"].clone()).expect("six numbers");
            for (got, want) in affine.0.iter().zip(&matrix) {
                assert!((got - want).abs() < 1e-12, "{affine:?} {matrix:?}");
            }
            let expected: Vec<u8> = serde_json::from_value(case["pixels"].clone()).expect("bytes");
            let warped = affine.warp(&picture(32, 24), (16, 12));
            // OpenCV's own versions differ among each other in how finely they place a sample.
            let worst = warped
                .pixels
                .iter()
                .zip(&expected)
                .map(|(got, want)| got.abs_diff(*want))
                .max();
            assert!(worst <= Some(2), "{worst:?} at scale {}", number("scale"));
        }
    }

    #[test]
    fn boxes_follow_and_are_clipped() {
        let affine = Affine::new(0.0, 2.0, [0.0; 2], [-10.0, 5.0]);
        let moved = affine.warp_box(
            PixelBox {
                class: 1,
                corners: [4.0, 1.0, 20.0, 3.0],
            },
            (24, 24),
        );
        assert_eq!(moved.corners, [0.0, 7.0, 24.0, 11.0]);
        let turned = Affine::new(90.0, 1.0, [0.0; 2], [0.0, 10.0]);
        let moved = turned.warp_box(
            PixelBox {
                class: 1,
                corners: [2.0, 3.0, 6.0, 4.0],
            },
            (24, 24),
        );
        for (got, want) in moved.corners.iter().zip([3.0, 4.0, 4.0, 8.0]) {
            assert!((got - want).abs() < 1e-5, "{moved:?}");
        }
    }
}
