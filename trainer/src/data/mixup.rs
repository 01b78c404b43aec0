//! Another image, half and half over the first (Zhang et al., "mixup", 2018, as YOLOX does it).

use fastrand::Rng;
use gpurun_dataset::RgbImage;

use super::FILL;
use super::mosaic::{Tile, paste};
use super::random::uniform;
use super::resample::resize;
use super::transform::PixelBox;

/// Scales the partner's canvas by a factor drawn from `zoom`, mirrors it half of the time, moves it at random where it
/// is larger than the image, and blends it in; around a smaller one the image darkens. The partner's boxes join.
pub(super) fn mix(
    image: &mut RgbImage,
    boxes: &mut Vec<PixelBox>,
    partner: &Tile,
    zoom: (f64, f64),
    random: &mut Rng,
) {
    let factor = uniform(random, zoom.0, zoom.1);
    let is_mirrored = random.bool();
    let (width, height) = (image.width, image.height);
    let mut canvas = grey(width, height);
    paste(&partner.fitted.image, 0, 0, &mut canvas);
    let scaled = |side: u32| ((f64::from(side) * factor) as u32).max(1);
    let canvas = resize(&canvas, scaled(width), scaled(height));
    let mut shift = |canvas: u32, side: u32| match canvas.saturating_sub(side) {
        0 => 0,
        spare => random.u32(..spare),
    };
    let top = shift(canvas.height, height);
    let left = shift(canvas.width, width);
    for y in 0..height {
        for x in 0..width {
            let blended = match pixel(&canvas, x + left, y + top, is_mirrored) {
                Some(over) => over,
                None => &[0; 3],
            };
            let at = (y as usize * width as usize + x as usize) * 3;
            for (value, over) in image.pixels[at..at + 3].iter_mut().zip(blended) {
                *value = u16::midpoint((*value).into(), (*over).into()) as u8;
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
    use super::*;

    /// 8 wide and 4 high on a canvas of 8 x 8: left half 50, right half 200.
    fn partner() -> Tile {
        let row = [[50; 12], [200; 12]].concat();
        let image = RgbImage {
            width: 8,
            height: 4,
            pixels: row.repeat(4),
        };
        let fitted = Arc::new(Fitted {
            image,
            original: (8, 4),
        });
        let boxes = vec![PixelBox {
            class: 3,
            corners: [4.0, 0.0, 8.0, 4.0],
        }];
        Tile { fitted, boxes }
    }

    /// The result at this zoom, mirrored or not, whichever is asked for.
    fn mixed(zoom: f64, mirrored: bool) -> (RgbImage, Vec<PixelBox>) {
        for seed in 0..32 {
            let mut image = grey(8, 8);
            let mut boxes = vec![];
            let mut random = Rng::with_seed(seed);
            mix(
                &mut image,
                &mut boxes,
                &partner(),
                (zoom, zoom),
                &mut random,
            );
            let mut random = Rng::with_seed(seed);
            let _ = random.f64();
            if random.bool() == mirrored {
                return (image, boxes);
            }
        }
        panic!("a coin that never shows one side");
    }

    fn at(image: &RgbImage, x: usize, y: usize) -> u8 {
        image.pixels[(y * image.width as usize + x) * 3]
    }

    #[test]
    fn pixels_are_the_means_and_boxes_come_along() {
        let (image, boxes) = mixed(1.0, false);
        let found = [at(&image, 0, 0), at(&image, 7, 3), at(&image, 7, 7)];
        assert_eq!(found, [82, 157, 114]);
        assert_eq!(boxes[0].corners, [4.0, 0.0, 8.0, 4.0]);
        let (image, boxes) = mixed(1.0, true);
        assert_eq!([at(&image, 0, 0), at(&image, 7, 0)], [157, 82]);
        assert_eq!(boxes[0].corners, [0.0, 0.0, 4.0, 4.0]);
    }

    #[test]
    fn around_a_smaller_one_it_is_dark() {
        let (image, boxes) = mixed(0.5, false);
        assert_eq!([at(&image, 5, 0), at(&image, 0, 5)], [57, 57]);
        assert_eq!(boxes[0].corners, [2.0, 0.0, 4.0, 2.0]);
    }

    #[test]
    fn of_a_larger_one_a_part_is_seen() {
        for mirrored in [false, true] {
            let (_, boxes) = mixed(2.0, mirrored);
            let [x1, y1, x2, y2] = boxes[0].corners;
            assert!(
                x1 >= 0.0 && x2 <= 8.0 && y1 == 0.0 && y2 <= 8.0,
                "{boxes:?}"
            );
            assert_eq!(boxes[0].class, 3);
        }
    }
}
