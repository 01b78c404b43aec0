//! From a picture with boxes to a canvas with targets: jitter, mirroring, letterbox.

use fastrand::Rng;
use gpurun_dataset::RgbImage;

use super::hsv;
use super::letterbox::{Letterbox, Look, Mirror, Padding, write_planar};
use super::resample::resize;

/// Random changes to training images. The defaults are LibreYOLO's for YOLO9; [`AugmentConfig::yolox`] has YOLOX's.
#[derive(Debug, Clone, PartialEq)]
pub struct AugmentConfig {
    /// Probability of a mosaic, while there are any.
    pub mosaic: f64,
    /// First epoch (0-based) without mosaics: [`AugmentConfig::mosaic_epochs`].
    pub mosaic_until: usize,
    /// Largest rotation of a mosaic, in degrees.
    pub degrees: f64,
    /// Largest shift of a mosaic, in parts of the canvas.
    pub translate: f64,
    /// Smallest and largest scale of a mosaic.
    pub scale: (f64, f64),
    /// Largest shear of a mosaic, in degrees.
    pub shear: f64,
    /// Probability of colour jitter.
    pub hsv: f64,
    /// Probability of mirroring left and right.
    pub flip_horizontal: f64,
    /// Probability of mirroring top and bottom.
    pub flip_vertical: f64,
    /// Boxes of a mosaic with a side of at most so many pixels are dropped.
    pub mosaic_least: f32,
    /// Probability that a mosaic with boxes is blended with another image.
    pub mixup: f64,
    /// Smallest and largest scale of that other image.
    pub mixup_scale: (f64, f64),
    /// Images without boxes are neither jittered nor mirrored.
    pub background_as_it_is: bool,
    /// At most this many boxes of an image are learnt from.
    pub most_targets: usize,
}

impl Default for AugmentConfig {
    fn default() -> Self {
        Self {
            mosaic: 1.0,
            mosaic_until: usize::MAX,
            degrees: 0.0,
            translate: 0.1,
            scale: (0.5, 1.5),
            shear: 0.0,
            hsv: 1.0,
            flip_horizontal: 0.5,
            flip_vertical: 0.0,
            mosaic_least: 2.0,
            mixup: 0.0,
            mixup_scale: (0.5, 1.5),
            background_as_it_is: false,
            most_targets: 300,
        }
    }
}

impl AugmentConfig {
    /// LibreYOLO's for YOLOX.
    #[must_use]
    pub fn yolox() -> Self {
        Self {
            degrees: 10.0,
            shear: 2.0,
            scale: (0.1, 2.0),
            mosaic_least: -1.0,
            mixup: 1.0,
            background_as_it_is: true,
            most_targets: 50,
            ..Self::default()
        }
    }

    /// How many of `epochs` have mosaics when the last `without` have none; 0 `without` means all have.
    pub fn mosaic_epochs(epochs: usize, without: usize) -> usize {
        if without == 0 {
            usize::MAX
        } else {
            epochs.saturating_sub(without)
        }
    }
}

/// A box `[x1, y1, x2, y2]` in pixels of some picture.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct PixelBox {
    pub class: usize,
    pub corners: [f32; 4],
}

impl PixelBox {
    /// Whether both sides are longer than `side` pixels.
    pub(super) fn exceeds(&self, side: f32) -> bool {
        let [x1, y1, x2, y2] = self.corners;
        x2 - x1 > side && y2 - y1 > side
    }

    /// The box at another scale and place.
    pub(super) fn moved(&self, ratio: f32, left: f32, top: f32) -> Self {
        let [x1, y1, x2, y2] = self.corners;
        Self {
            corners: [
                x1 * ratio + left,
                y1 * ratio + top,
                x2 * ratio + left,
                y2 * ratio + top,
            ],
            ..*self
        }
    }

    fn mirrored(&self, mirror: Mirror, size: (u32, u32)) -> Self {
        let [mut x1, mut y1, mut x2, mut y2] = self.corners;
        if mirror.horizontal {
            (x1, x2) = (size.0 as f32 - x2, size.0 as f32 - x1);
        }
        if mirror.vertical {
            (y1, y2) = (size.1 as f32 - y2, size.1 as f32 - y1);
        }
        Self {
            corners: [x1, y1, x2, y2],
            ..*self
        }
    }
}

/// Where a picture goes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Canvas {
    pub size: (u32, u32),
    pub padding: Padding,
}

/// Jitters and mirrors a picture at random and letterboxes it into `out` (planar RGB).
///
/// Returns the targets, `[class, x1, y1, x2, y2]` normalised to the canvas. Boxes of at most one pixel are
/// dropped; if that leaves none of several, the picture is used as it was.
pub(super) fn augment(
    image: &RgbImage,
    boxes: &[PixelBox],
    config: &AugmentConfig,
    canvas: Canvas,
    random: &mut Rng,
    out: &mut [u8],
) -> Vec<[f32; 5]> {
    if boxes.is_empty() && config.background_as_it_is {
        return letterbox(image, boxes, canvas, out);
    }
    let shifts = if random.f64() < config.hsv {
        hsv::random_shifts(random)
    } else {
        [0; 3]
    };
    let mirror = Mirror {
        horizontal: random.f64() < config.flip_horizontal,
        vertical: random.f64() < config.flip_vertical,
    };
    let size = (image.width, image.height);
    let fit = Letterbox::fit(size, canvas.size, canvas.padding);
    let placed = |mirror: Mirror| {
        boxes.iter().map(move |box_| {
            box_.mirrored(mirror, size)
                .moved(fit.ratio as f32, fit.left as f32, fit.top as f32)
        })
    };
    let kept: Vec<PixelBox> = placed(mirror).filter(|box_| box_.exceeds(1.0)).collect();
    if kept.is_empty() && !boxes.is_empty() {
        let boxes: Vec<PixelBox> = placed(Mirror::default()).collect();
        place(image, fit, canvas.size, Look::default(), out);
        return normalise(&boxes, canvas.size, config.most_targets);
    }
    place(image, fit, canvas.size, Look { mirror, shifts }, out);
    normalise(&kept, canvas.size, config.most_targets)
}

/// Letterboxes a picture into `out` (planar RGB) as it is, and returns its targets likewise.
pub(super) fn letterbox(
    image: &RgbImage,
    boxes: &[PixelBox],
    canvas: Canvas,
    out: &mut [u8],
) -> Vec<[f32; 5]> {
    let fit = Letterbox::fit((image.width, image.height), canvas.size, canvas.padding);
    place(image, fit, canvas.size, Look::default(), out);
    let moved = boxes
        .iter()
        .map(|box_| box_.moved(fit.ratio as f32, fit.left as f32, fit.top as f32));
    normalise(&moved.collect::<Vec<_>>(), canvas.size, usize::MAX)
}

fn place(image: &RgbImage, fit: Letterbox, canvas: (u32, u32), look: Look, out: &mut [u8]) {
    let offset = (fit.left, fit.top);
    if (fit.width, fit.height) == (image.width, image.height) {
        return write_planar(image, offset, canvas, look, out);
    }
    // Truncation has made the image a pixel too small to fill the canvas.
    write_planar(
        &resize(image, fit.width, fit.height),
        offset,
        canvas,
        look,
        out,
    );
}

fn normalise(boxes: &[PixelBox], canvas: (u32, u32), most: usize) -> Vec<[f32; 5]> {
    let (width, height) = (canvas.0 as f32, canvas.1 as f32);
    let normalise = |box_: &PixelBox| {
        let [x1, y1, x2, y2] = box_.corners;
        let [x1, y1, x2, y2] =
            [x1 / width, y1 / height, x2 / width, y2 / height].map(|edge| edge.clamp(0.0, 1.0));
        [box_.class as f32, x1, y1, x2, y2]
    };
    boxes.iter().take(most).map(normalise).collect()
}

#[cfg(test)]
mod tests {
    use super::super::random::tests::picture;
    use super::*;

    const CANVAS: Canvas = Canvas {
        size: (32, 32),
        padding: Padding::TopLeft,
    };

    fn still() -> AugmentConfig {
        AugmentConfig {
            hsv: 0.0,
            flip_horizontal: 0.0,
            ..AugmentConfig::default()
        }
    }

    #[test]
    fn a_mirrored_box_stays_on_its_pixels() {
        let mut image = picture(32, 24);
        image.pixels[(5 * 32 + 4) * 3] = 255;
        let boxes = [PixelBox {
            class: 2,
            corners: [4.0, 5.0, 6.0, 8.0],
        }];
        let config = AugmentConfig {
            flip_horizontal: 1.0,
            flip_vertical: 1.0,
            ..still()
        };
        let mut out = vec![0; 3 * 32 * 32];
        let targets = augment(
            &image,
            &boxes,
            &config,
            CANVAS,
            &mut Rng::with_seed(1),
            &mut out,
        );
        let scaled = [26.0, 16.0, 28.0, 19.0].map(|edge| edge / 32.0);
        assert_eq!(targets, [[2.0, scaled[0], scaled[1], scaled[2], scaled[3]]]);
        assert_eq!(out[(23 - 5) * 32 + 31 - 4], 255);
        assert!(out[24 * 32..32 * 32].iter().all(|value| *value == 114));
    }

    #[test]
    fn tiny_boxes_are_dropped_unless_all_are() {
        let config = AugmentConfig {
            flip_horizontal: 1.0,
            hsv: 1.0,
            ..still()
        };
        let tiny = PixelBox {
            class: 0,
            corners: [1.0, 1.0, 2.0, 2.0],
        };
        let large = PixelBox {
            class: 1,
            corners: [0.0, 0.0, 8.0, 8.0],
        };
        let mut out = vec![0; 3 * 32 * 32];
        let mut run = |boxes: &[PixelBox]| {
            let targets = augment(
                &picture(32, 32),
                boxes,
                &config,
                CANVAS,
                &mut Rng::with_seed(1),
                &mut out,
            );
            (targets, out.clone())
        };
        let (targets, _) = run(&[tiny, large]);
        assert_eq!(targets, [[1.0, 0.75, 0.0, 1.0, 0.25]]);
        let (targets, pixels) = run(&[tiny]);
        assert_eq!(
            targets[0][1..],
            [1.0, 1.0, 2.0, 2.0].map(|edge: f32| edge / 32.0)
        );
        let mut plain = vec![0; 3 * 32 * 32];
        letterbox(&picture(32, 32), &[], CANVAS, &mut plain);
        assert_eq!(pixels, plain);
    }

    #[test]
    fn a_background_is_left_as_it_is_where_that_is_asked() {
        let mut plain = vec![0; 3 * 32 * 32];
        letterbox(&picture(32, 32), &[], CANVAS, &mut plain);
        for background_as_it_is in [false, true] {
            let config = AugmentConfig {
                flip_horizontal: 1.0,
                background_as_it_is,
                ..AugmentConfig::default()
            };
            let mut out = vec![0; 3 * 32 * 32];
            let mut random = Rng::with_seed(1);
            augment(
                &picture(32, 32),
                &[],
                &config,
                CANVAS,
                &mut random,
                &mut out,
            );
            assert_eq!(out == plain, background_as_it_is);
        }
    }

    #[test]
    fn only_so_many_boxes_are_learnt() {
        let box_ = PixelBox {
            class: 0,
            corners: [1.0, 1.0, 9.0, 9.0],
        };
        let mut out = vec![0; 3 * 32 * 32];
        let targets = augment(
            &picture(32, 32),
            &[box_; 60],
            &AugmentConfig::yolox(),
            CANVAS,
            &mut Rng::with_seed(1),
            &mut out,
        );
        assert_eq!(targets.len(), 50);
    }

    #[test]
    fn the_last_epochs_have_no_mosaic() {
        assert_eq!(AugmentConfig::mosaic_epochs(100, 15), 85);
        assert_eq!(AugmentConfig::mosaic_epochs(15, 15), 0);
        assert_eq!(AugmentConfig::mosaic_epochs(10, 15), 0);
        assert_eq!(AugmentConfig::mosaic_epochs(10, 0), usize::MAX);
    }
}
