//! A grey thumbnail of 9 x 8 pixels, made as Pillow makes it: what LibreYOLO's doctor tells near duplicates by.
//!
//! Each pixel is a weighted mean of the pixels below it, first along the rows, then down the columns, both rounded to
//! a byte. The weights are Keys' cubic convolution (1981, a = -1/2), as wide as the image is larger.
//!
//! A mean of pixels is linear in a block's coefficients too, so it can be had from those without the pixels.

use std::f64::consts::{PI, SQRT_2};

use super::jpeg::Surveyor;

/// Pixels in a row, one more than bits.
pub(super) const WIDTH: usize = 9;
/// Rows.
pub(super) const HEIGHT: usize = 8;

/// Grey values, row by row.
pub(super) type Thumbnail = [u8; WIDTH * HEIGHT];

/// Fixed-point digits of a weight, as many as Pillow's.
const DIGITS: u32 = 22;
/// Of pixels on which the cubic is not zero, on each side, where nothing is reduced.
const SUPPORT: f64 = 2.0;
/// Sums side by side, for the processor's sake.
const LANES: usize = 8;

/// Makes thumbnails; keeps the weights of the last size, since images come in few sizes.
#[derive(Default)]
pub(super) struct Thumbnails {
    size: (usize, usize),
    across: Vec<Taps>,
    down: Vec<Taps>,
    /// Of each pixel across, over the blocks: what a mean counts and what a slope counts.
    block_taps: Vec<BlockTaps>,
    rows: Vec<[u8; WIDTH]>,
}

/// The pixels that one pixel of the thumbnail is a mean of.
struct Taps {
    start: usize,
    weights: Vec<f64>,
    fixed: Vec<i32>,
}

struct BlockTaps {
    start: usize,
    means: Vec<f32>,
    slopes: Vec<f32>,
}

impl Thumbnails {
    /// From grey pixels, row by row.
    pub(super) fn of_pixels(&mut self, width: usize, height: usize, grey: &[u8]) -> Thumbnail {
        self.prepare(width, height);
        self.rows.clear();
        for row in grey.chunks_exact(width).take(height) {
            let mut reduced = [0; WIDTH];
            for (value, taps) in reduced.iter_mut().zip(&self.across) {
                let pixels = &row[taps.start..];
                let sum: i32 = taps
                    .fixed
                    .iter()
                    .zip(pixels)
                    .map(|(weight, pixel)| weight * i32::from(*pixel))
                    .sum();
                *value = rounded(sum);
            }
            self.rows.push(reduced);
        }
        self.columns()
    }

    /// From the blocks of a JPEG, `stride` in a row.
    pub(super) fn of_blocks(
        &mut self,
        width: usize,
        height: usize,
        stride: usize,
        blocks: &Surveyor,
    ) -> Thumbnail {
        self.prepare(width, height);
        self.rows.clear();
        let waves: [f32; 8] = std::array::from_fn(|pixel| half_wave(pixel) as f32);
        for row in 0..height.div_ceil(8) {
            let start = row * stride;
            let (means, across, down) = (
                &blocks.means[start..],
                &blocks.across[start..],
                &blocks.down[start..],
            );
            let mut levels = [0.0; WIDTH];
            let mut slopes = [0.0; WIDTH];
            for (index, taps) in self.block_taps.iter().enumerate() {
                levels[index] = dot(&taps.means, &means[taps.start..])
                    + dot(&taps.slopes, &across[taps.start..]);
                slopes[index] = dot(&taps.means, &down[taps.start..]);
            }
            for wave in waves.iter().take(height - 8 * row) {
                self.rows.push(std::array::from_fn(|index| {
                    (levels[index] + slopes[index] * wave + 0.5) as u8
                }));
            }
        }
        self.columns()
    }

    fn columns(&self) -> Thumbnail {
        let mut thumbnail = [0; WIDTH * HEIGHT];
        for (taps, out) in self.down.iter().zip(thumbnail.chunks_exact_mut(WIDTH)) {
            let mut sums = [0_i32; WIDTH];
            for (weight, row) in taps.fixed.iter().zip(&self.rows[taps.start..]) {
                for (sum, pixel) in sums.iter_mut().zip(row) {
                    *sum += weight * i32::from(*pixel);
                }
            }
            for (value, sum) in out.iter_mut().zip(sums) {
                *value = rounded(sum);
            }
        }
        thumbnail
    }

    fn prepare(&mut self, width: usize, height: usize) {
        if self.size == (width, height) {
            return;
        }
        self.size = (width, height);
        self.across = taps(width, WIDTH);
        self.down = taps(height, HEIGHT);
        self.block_taps = self.across.iter().map(BlockTaps::new).collect();
    }
}

/// The weights of each of `to` pixels over `from`.
fn taps(from: usize, to: usize) -> Vec<Taps> {
    if from == to {
        // Pillow leaves a side alone that has the size already.
        let one = |start| Taps {
            start,
            weights: vec![1.0],
            fixed: vec![1 << DIGITS],
        };
        return (0..to).map(one).collect();
    }
    let scale = from as f64 / to as f64;
    let width = scale.max(1.0);
    let tap = |index: usize| {
        let centre = (index as f64 + 0.5) * scale;
        let start = (centre - SUPPORT * width + 0.5).max(0.0) as usize;
        let end = ((centre + SUPPORT * width + 0.5) as usize).min(from);
        let mut weights: Vec<f64> = (start..end)
            .map(|pixel| cubic((pixel as f64 - centre + 0.5) / width))
            .collect();
        let sum: f64 = weights.iter().sum();
        for weight in &mut weights {
            *weight /= sum;
        }
        let fixed = weights
            .iter()
            .map(|weight| (weight * f64::from(1 << DIGITS)).round() as i32)
            .collect();
        Taps {
            start,
            weights,
            fixed,
        }
    };
    (0..to).map(tap).collect()
}

fn cubic(x: f64) -> f64 {
    const A: f64 = -0.5;
    let x = x.abs();
    if x < 1.0 {
        return ((A + 2.0) * x - (A + 3.0)) * x * x + 1.0;
    }
    if x < 2.0 {
        return (((x - 5.0) * x + 8.0) * x - 4.0) * A;
    }
    0.0
}

/// What the first coefficient after the mean adds to a pixel of a block of eight (ITU-T T.81, A.3.3).
fn half_wave(pixel: usize) -> f64 {
    ((2 * pixel + 1) as f64 * PI / 16.0).cos() / (4.0 * SQRT_2)
}

fn rounded(sum: i32) -> u8 {
    ((sum + (1 << (DIGITS - 1))) >> DIGITS).clamp(0, 255) as u8
}

fn dot(weights: &[f32], values: &[f32]) -> f32 {
    let values = &values[..weights.len()];
    let mut sums = [0.0; LANES];
    let (weights, last_weights) = weights.as_chunks::<LANES>();
    let (values, last_values) = values.as_chunks::<LANES>();
    for (weights, values) in weights.iter().zip(values) {
        for lane in 0..LANES {
            sums[lane] += weights[lane] * values[lane];
        }
    }
    let last: f32 = last_weights
        .iter()
        .zip(last_values)
        .map(|(weight, value)| weight * value)
        .sum();
    sums.iter().sum::<f32>() + last
}

impl BlockTaps {
    fn new(taps: &Taps) -> Self {
        let first = taps.start / 8;
        let last = (taps.start + taps.weights.len()).div_ceil(8);
        let mut means = vec![0.0; last - first];
        let mut slopes = means.clone();
        for (pixel, weight) in (taps.start..).zip(&taps.weights) {
            let block = pixel / 8 - first;
            means[block] += weight;
            slopes[block] += weight * half_wave(pixel % 8);
        }
        let single = |values: Vec<f64>| values.into_iter().map(|value| value as f32).collect();
        Self {
            start: first,
            means: single(means),
            slopes: single(slopes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_even_image_stays_even_at_any_size() {
        for (width, height) in [(1, 1), (9, 8), (5, 300), (640, 480), (33, 7)] {
            let grey = vec![77; width * height];
            let thumbnail = Thumbnails::default().of_pixels(width, height, &grey);
            assert_eq!(thumbnail, [77; WIDTH * HEIGHT], "{width} x {height}");
        }
    }

    /// Of `Image.fromarray(a).resize((9, 8))` with Pillow 13.0, `a[y, x] = (x * x + 3 * y) % 251`.
    #[test]
    fn pixels_are_reduced_as_pillow_does() {
        let (width, height) = (37, 26);
        let grey: Vec<u8> = (0..height)
            .flat_map(|y| (0..width).map(move |x| ((x * x + 3 * y) % 251) as u8))
            .collect();
        let thumbnail = Thumbnails::default().of_pixels(width, height, &grey);
        assert_eq!(thumbnail[..WIDTH], PILLOW_FIRST);
        assert_eq!(thumbnail[7 * WIDTH..], PILLOW_LAST);
    }

    const PILLOW_FIRST: [u8; WIDTH] = [7, 36, 105, 160, 93, 146, 134, 120, 128];
    const PILLOW_LAST: [u8; WIDTH] = [74, 103, 177, 116, 128, 103, 155, 124, 125];
}
