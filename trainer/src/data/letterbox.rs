//! Fitting an image into a canvas, and taking boxes back out of it.

use gpurun_dataset::RgbImage;

use super::{FILL, hsv};

/// Where the image sits in its canvas.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Padding {
    /// In the upper left corner; what LibreYOLO trains with.
    #[default]
    TopLeft,
    /// In the middle.
    Center,
}

/// How an image was scaled and placed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Letterbox {
    /// Canvas pixels per image pixel.
    pub ratio: f64,
    /// Size of the scaled image, at least 1.
    pub width: u32,
    /// Size of the scaled image, at least 1.
    pub height: u32,
    /// Canvas columns before the image.
    pub left: u32,
    /// Canvas rows above the image.
    pub top: u32,
}

impl Letterbox {
    /// The largest fit of an image of size `(width, height)` into a canvas, sizes truncated to whole pixels.
    pub fn fit(image: (u32, u32), canvas: (u32, u32), padding: Padding) -> Self {
        let ratio = (f64::from(canvas.1) / f64::from(image.1))
            .min(f64::from(canvas.0) / f64::from(image.0));
        let width = ((f64::from(image.0) * ratio) as u32).max(1);
        let height = ((f64::from(image.1) * ratio) as u32).max(1);
        let (left, top) = match padding {
            Padding::TopLeft => (0, 0),
            Padding::Center => ((canvas.0 - width) / 2, (canvas.1 - height) / 2),
        };
        Self {
            ratio,
            width,
            height,
            left,
            top,
        }
    }

    /// A box `[x1, y1, x2, y2]` from canvas pixels to pixels of the original image.
    pub fn undo(&self, corners: [f32; 4]) -> [f32; 4] {
        let (left, top, ratio) = (self.left as f32, self.top as f32, self.ratio as f32);
        let [x1, y1, x2, y2] = corners;
        [
            (x1 - left) / ratio,
            (y1 - top) / ratio,
            (x2 - left) / ratio,
            (y2 - top) / ratio,
        ]
    }
}

/// Which sides are swapped when an image is written out.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Mirror {
    pub horizontal: bool,
    pub vertical: bool,
}

/// What happens to an image on its way into the canvas.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Look {
    pub mirror: Mirror,
    /// Of hue, saturation and value.
    pub shifts: [i32; 3],
}

/// Writes an image into a planar canvas: `3 * canvas height * canvas width` bytes, all red first.
pub(super) fn write_planar(
    image: &RgbImage,
    offset: (u32, u32),
    canvas: (u32, u32),
    look: Look,
    out: &mut [u8],
) {
    let Look { mirror, shifts } = look;
    let (columns, rows) = (canvas.0 as usize, canvas.1 as usize);
    let (width, height) = (image.width as usize, image.height as usize);
    let (left, top) = (offset.0 as usize, offset.1 as usize);
    if (width, height) != (columns, rows) {
        out.fill(FILL);
    }
    let (red, rest) = out.split_at_mut(rows * columns);
    let (green, blue) = rest.split_at_mut(rows * columns);
    for (y, source) in image.pixels.chunks_exact(width * 3).enumerate() {
        let row = if mirror.vertical { height - 1 - y } else { y } + top;
        let span = row * columns + left..row * columns + left + width;
        let (red, green, blue) = (
            &mut red[span.clone()],
            &mut green[span.clone()],
            &mut blue[span],
        );
        let planes = red.iter_mut().zip(green.iter_mut()).zip(blue.iter_mut());
        let write = |(((red, green), blue), pixel): (((&mut u8, &mut u8), &mut u8), &[u8; 3])| {
            [*red, *green, *blue] = *pixel;
        };
        let pixels = source.as_chunks::<3>().0;
        if mirror.horizontal {
            planes.zip(pixels.iter().rev()).for_each(write);
        } else {
            planes.zip(pixels).for_each(write);
        }
        hsv::shift(red, green, blue, shifts);
    }
}

#[cfg(test)]
mod tests {
    use super::super::resample::resize;
    use super::*;
    use crate::testing::Tensors;

    #[test]
    fn sizes_are_truncated_and_boxes_come_back() {
        let fit = Letterbox::fit((640, 427), (320, 320), Padding::Center);
        assert_eq!(
            (fit.width, fit.height, fit.left, fit.top),
            (320, 213, 0, 53)
        );
        assert_eq!(fit.undo([32.0, 53.0, 64.0, 85.0]), [64.0, 0.0, 128.0, 64.0]);
        let fit = Letterbox::fit((3000, 2), (320, 320), Padding::TopLeft);
        assert_eq!((fit.width, fit.height, fit.left, fit.top), (320, 1, 0, 0));
    }

    #[test]
    fn letterbox_equals_libreyolo() {
        let Some(golden) = Tensors::of_shared("letterbox.safetensors") else {
            return;
        };
        let load = |name: &str| {
            let tensor = golden.get(name);
            let (height, width, _) = tensor.size3().expect("rows, columns, channels");
            let pixels = Vec::<u8>::try_from(tensor.flatten(0, -1)).expect("bytes");
            RgbImage {
                width: width as u32,
                height: height as u32,
                pixels,
            }
        };
        let image = load("img");
        for (name, padding) in [("topleft", Padding::TopLeft), ("center", Padding::Center)] {
            let expected = load(name);
            let canvas = (expected.width, expected.height);
            let fit = Letterbox::fit((image.width, image.height), canvas, padding);
            let resized = resize(&image, fit.width, fit.height);
            let mut planar = vec![0; expected.pixels.len()];
            write_planar(
                &resized,
                (fit.left, fit.top),
                canvas,
                Look::default(),
                &mut planar,
            );
            let plane = expected.pixels.len() / 3;
            for (index, want) in expected.pixels.iter().enumerate() {
                let got = planar[(index % 3) * plane + index / 3];
                assert!(
                    got.abs_diff(*want) <= 1,
                    "{name} at {index}: {got} for {want}"
                );
            }
        }
    }

    #[test]
    fn planes_are_red_green_blue_and_mirrored() {
        let image = RgbImage {
            width: 2,
            height: 1,
            pixels: vec![1, 2, 3, 4, 5, 6],
        };
        let mut out = [0; 12];
        write_planar(&image, (0, 1), (2, 2), Look::default(), &mut out);
        assert_eq!(out, [114, 114, 1, 4, 114, 114, 2, 5, 114, 114, 3, 6]);
        write_planar(
            &image,
            (0, 0),
            (2, 2),
            Look {
                mirror: Mirror {
                    horizontal: true,
                    vertical: false,
                },
                shifts: [0; 3],
            },
            &mut out,
        );
        assert_eq!(out, [4, 1, 114, 114, 5, 2, 114, 114, 6, 3, 114, 114]);
    }
}
