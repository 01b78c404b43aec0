//! Another image, half and half over the first (Zhang et al., "mixup", 2018, as YOLOX does it).

use fastrand::Rng;
use gpurun_dataset::RgbImage;

use super::FILL;
use super::mosaic::{Tile, paste};
use super::random::uniform;
use super::resample::resize;
use super::transform::PixelBox;

/// How the partner's canvas is laid over the image.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Overlay {
    factor: f64,
    is_mirrored: bool,
    /// First row and column of it that are seen, where it is larger than the image.
    top: u32,
    left: u32,
}

impl Overlay {
    /// Draws one for an image of this size: a factor within `zoom`, mirrored half of the time, then the shifts.
    pub(super) fn random(size: (u32, u32), zoom: (f64, f64), random: &mut Rng) -> Self {
        let factor = uniform(random, zoom.0, zoom.1);
        let is_mirrored = random.bool();
        let mut shift = |side: u32| match scaled(side, factor).saturating_sub(side) {
            0 => 0,
            spare => random.u32(..spare),
        };
        Self {
            factor,
            is_mirrored,
            top: shift(size.1),
            left: shift(size.0),
        }
    }
}

fn scaled(side: u32, factor: f64) -> u32 {
    ((f64::from(side) * factor) as u32).max(1)
}

/// Blends the partner, scaled, mirrored and shifted, into the image; around a smaller one the image darkens. The
/// partner's boxes join.
pub(super) fn mix(
    image: &mut RgbImage,
    boxes: &mut Vec<PixelBox>,
    partner: &Tile,
    overlay: Overlay,
) {
    let Overlay {
        factor,
        is_mirrored,
        top,
        left,
    } = overlay;
    let (width, height) = (image.width, image.height);
    let mut canvas = grey(width, height);
    paste(&partner.fitted.image, 0, 0, &mut canvas);
    let canvas = resize(&canvas, scaled(width, factor), scaled(height, factor));
    for y in 0..height {
        for x in 0..width {
            let over = pixel(&canvas, x + left, y + top, is_mirrored).unwrap_or(&[0; 3]);
            let at = (y as usize * width as usize + x as usize) * 3;
            for (value, over) in image.pixels[at..at + 3].iter_mut().zip(over) {
                *value = u8::midpoint(*value, *over);
            }
        }
    }
    boxes.extend(partner.boxes.iter().map(|box_| {
        let clip = |edge: f32, side: u32| edge.clamp(0.0, side as f32);
        let [x1, y1, x2, y2] = box_.moved(factor as f32, 0.0, 0.0).corners;
        let [mut x1, mut x2] = [x1, x2].map(|x| clip(x, canvas.width));
        let [y1, y2] = [y1, y2].map(|y| clip(y, canvas.height));
        if is_mirrored {
            (x1, x2) = (canvas.width as f32 - x2, canvas.width as f32 - x1);
        }
        let [x1, x2] = [x1, x2].map(|x| clip(x - left as f32, width));
        let [y1, y2] = [y1, y2].map(|y| clip(y - top as f32, height));
        PixelBox {
            corners: [x1, y1, x2, y2],
            ..*box_
        }
    }));
}

fn grey(width: u32, height: u32) -> RgbImage {
    RgbImage {
        width,
        height,
        pixels: vec![FILL; width as usize * height as usize * 3],
    }
}

/// None beyond the image.
fn pixel(image: &RgbImage, x: u32, y: u32, is_mirrored: bool) -> Option<&[u8]> {
    if x >= image.width || y >= image.height {
        return None;
    }
    let x = if is_mirrored { image.width - 1 - x } else { x };
    let at = (y as usize * image.width as usize + x as usize) * 3;
    image.pixels.get(at..at + 3)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::cache::Fitted;
    use super::super::random::tests::picture;
    use super::*;
    use crate::testing::yolox::{facts, floats};

    #[test]
    fn pixels_and_boxes_equal_libreyolos() {
        for case in facts()["mixup"].as_array().expect("a list") {
            let count = |key: &str| {
                let number = case[key].as_u64().expect("a number");
                u32::try_from(number).expect("a small one")
            };
            let overlay = Overlay {
                factor: case["factor"].as_f64().expect("a number"),
                is_mirrored: case["mirrored"] == true,
                top: count("top"),
                left: count("left"),
            };
            let box_ = |class, corners| PixelBox { class, corners };
            let partner = Tile {
                fitted: Arc::new(Fitted {
                    image: picture(24, 16),
                    original: (24, 16),
                }),
                boxes: vec![
                    box_(1, [2.0, 3.0, 14.0, 12.0]),
                    box_(2, [20.0, 0.0, 24.0, 16.0]),
                ],
            };
            let (mut image, mut boxes) = (picture(24, 20), vec![]);
            mix(&mut image, &mut boxes, &partner, overlay);
            // Of the resampling, whose rounding OpenCV's own versions differ in.
            let pixels = image.pixels.iter().zip(floats(&case["pixels"]));
            for (index, (found, expected)) in pixels.enumerate() {
                let error = (f64::from(*found) - expected).abs();
                assert!(
                    error <= 1.0,
                    "{overlay:?} at {index}: {found}, not {expected}"
                );
            }
            let expected = case["boxes"].as_array().expect("a list");
            assert_eq!(boxes.len(), expected.len());
            for (found, expected) in boxes.iter().zip(expected) {
                let expected = floats(expected);
                let found = std::iter::once(found.class as f32).chain(found.corners);
                for (found, expected) in found.map(f64::from).zip(expected) {
                    assert!((found - expected).abs() < 1e-4, "{overlay:?}: {boxes:?}");
                }
            }
        }
    }

    #[test]
    fn draws_stay_within_the_canvas() {
        let mut random = Rng::with_seed(1);
        let mut mirrored = 0;
        for _ in 0..200 {
            let overlay = Overlay::random((40, 20), (0.5, 1.5), &mut random);
            assert!((0.5..1.5).contains(&overlay.factor));
            let (right, bottom) = (scaled(40, overlay.factor), scaled(20, overlay.factor));
            assert!(
                overlay.left == 0 || overlay.left + 40 < right,
                "{overlay:?}"
            );
            assert!(overlay.top == 0 || overlay.top + 20 < bottom, "{overlay:?}");
            mirrored += u32::from(overlay.is_mirrored);
        }
        assert!((60..140).contains(&mirrored), "{mirrored}");
    }
}
