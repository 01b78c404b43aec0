//! Four images around a random point, then a random affine back to the size of one.

use std::sync::Arc;

use fastrand::Rng;
use gpurun_dataset::RgbImage;

use super::FILL;
use super::affine::Affine;
use super::cache::Fitted;
use super::transform::{AugmentConfig, PixelBox};

/// An image and its boxes, fitted to the canvas.
pub(super) struct Tile {
    pub fitted: Arc<Fitted>,
    pub boxes: Vec<PixelBox>,
}

/// Draws the point where the four tiles meet, on a canvas of twice the size.
pub(super) fn random_centre(size: (u32, u32), random: &mut Rng) -> (u32, u32) {
    let mut draw = |side: u32| (f64::from(side) * (0.5 + random.f64())) as u32;
    let row = draw(size.1);
    (draw(size.0), row)
}

/// Puts the tiles around `centre`, upper left, upper right, lower left, lower right, and warps the result at
/// random into `size`. Boxes of at most `mosaic_least` pixels are dropped. A missing tile stays grey.
pub(super) fn compose(
    tiles: [Option<&Tile>; 4],
    centre: (u32, u32),
    size: (u32, u32),
    config: &AugmentConfig,
    random: &mut Rng,
) -> (RgbImage, Vec<PixelBox>) {
    let (width, height) = (size.0 * 2, size.1 * 2);
    let mut canvas = RgbImage {
        width,
        height,
        pixels: vec![FILL; width as usize * height as usize * 3],
    };
    let mut boxes = Vec::new();
    for (quadrant, tile) in tiles.into_iter().enumerate() {
        let Some(tile) = tile else { continue };
        let image = &tile.fitted.image;
        let (tile_width, tile_height) = (i64::from(image.width), i64::from(image.height));
        let (is_right, is_lower) = (quadrant % 2 == 1, quadrant >= 2);
        let left = i64::from(centre.0) - if is_right { 0 } else { tile_width };
        let top = i64::from(centre.1) - if is_lower { 0 } else { tile_height };
        paste(image, left, top, &mut canvas);
        let clip = |edge: f32, side: u32| edge.clamp(0.0, side as f32);
        boxes.extend(tile.boxes.iter().map(|box_| {
            let [x1, y1, x2, y2] = box_.moved(1.0, left as f32, top as f32).corners;
            PixelBox {
                corners: [
                    clip(x1, width),
                    clip(y1, height),
                    clip(x2, width),
                    clip(y2, height),
                ],
                ..*box_
            }
        }));
    }
    let affine = Affine::random(size, config, random);
    let warped = boxes
        .into_iter()
        .map(|box_| affine.warp_box(box_, size))
        .filter(|box_| box_.exceeds(config.mosaic_least));
    (affine.warp(&canvas, size), warped.collect())
}

/// Copies the part of an image that lies within the canvas.
pub(super) fn paste(image: &RgbImage, left: i64, top: i64, canvas: &mut RgbImage) {
    let visible = |offset: i64, side: u32, limit: u32| {
        let start = (-offset).clamp(0, i64::from(side));
        let end = (i64::from(limit) - offset).clamp(start, i64::from(side));
        (start as usize, end as usize)
    };
    let (x1, x2) = visible(left, image.width, canvas.width);
    let (y1, y2) = visible(top, image.height, canvas.height);
    for y in y1..y2 {
        let from = (y * image.width as usize + x1) * 3;
        let to =
            ((top + y as i64) as usize * canvas.width as usize + (left + x1 as i64) as usize) * 3;
        let bytes = (x2 - x1) * 3;
        canvas.pixels[to..to + bytes].copy_from_slice(&image.pixels[from..from + bytes]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tile(width: u32, height: u32, value: u8) -> Tile {
        let pixels = vec![value; (width * height * 3) as usize];
        let corners = [0.0, 0.0, width as f32, height as f32];
        let image = RgbImage {
            width,
            height,
            pixels,
        };
        Tile {
            fitted: Arc::new(Fitted {
                image,
                original: (width, height),
            }),
            boxes: vec![PixelBox {
                class: value as usize,
                corners,
            }],
        }
    }

    /// Scale exactly `scale`, no shift.
    fn only(scale: f64) -> AugmentConfig {
        AugmentConfig {
            scale: (scale, scale),
            translate: 0.0,
            ..AugmentConfig::default()
        }
    }

    #[test]
    fn tiles_meet_at_the_centre_and_boxes_lie_on_them() {
        let tiles = [
            tile(20, 16, 10),
            tile(20, 16, 20),
            tile(8, 20, 30),
            tile(20, 20, 40),
        ];
        let size = (20, 20);
        let (image, boxes) = compose(
            tiles.each_ref().map(Some),
            (12, 24),
            size,
            &only(1.0),
            &mut Rng::with_seed(1),
        );
        let at = |x: u32, y: u32| image.pixels[((y * 20 + x) * 3) as usize];
        assert_eq!(
            [at(0, 10), at(11, 19), at(12, 10), at(19, 8), at(5, 5)],
            [10, 10, 20, 20, 114]
        );
        assert_eq!(
            boxes,
            [
                PixelBox {
                    class: 10,
                    corners: [0.0, 8.0, 12.0, 20.0]
                },
                PixelBox {
                    class: 20,
                    corners: [12.0, 8.0, 20.0, 20.0]
                },
            ]
        );
        let (image, boxes) = compose(
            tiles.each_ref().map(Some),
            (12, 24),
            size,
            &only(0.5),
            &mut Rng::with_seed(1),
        );
        let at = |x: u32, y: u32| image.pixels[((y * 20 + x) * 3) as usize];
        assert_eq!(
            [at(2, 8), at(10, 8), at(4, 16), at(10, 16), at(0, 16)],
            [10, 20, 30, 40, 114]
        );
        assert_eq!(
            boxes[3],
            PixelBox {
                class: 40,
                corners: [6.0, 12.0, 16.0, 20.0]
            }
        );
    }

    #[test]
    fn missing_tiles_stay_grey_and_small_boxes_go() {
        let mut small = tile(20, 20, 7);
        small.boxes = vec![PixelBox {
            class: 0,
            corners: [0.0, 0.0, 2.0, 9.0],
        }];
        let (image, boxes) = compose(
            [None, None, None, Some(&small)],
            (10, 10),
            (20, 20),
            &only(1.0),
            &mut Rng::with_seed(1),
        );
        assert!(boxes.is_empty());
        assert_eq!(
            (image.pixels[0], image.pixels[(15 * 20 + 15) * 3]),
            (114, 7)
        );
    }

    #[test]
    fn centres_lie_in_the_middle_half() {
        let mut random = Rng::with_seed(2);
        for _ in 0..200 {
            let (x, y) = random_centre((40, 20), &mut random);
            assert!((20..60).contains(&x) && (10..30).contains(&y));
        }
    }
}
