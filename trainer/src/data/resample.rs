//! Bilinear resampling along rows and columns, in the fixed-point arithmetic of OpenCV.
//!
//! Source: OpenCV's `resize` for 8-bit images, `INTER_LINEAR`: weights of 11 bits, no anti-aliasing, the plain
//! mean of four pixels at exactly half size. Its vector code rounds one value in a thousand the other way, by 1.

use gpurun_dataset::RgbImage;

use super::FILL;

/// Fixed-point one of a weight.
const ONE: i32 = 1 << 11;

/// Where one output column (or row) comes from: two neighbours and their weights.
#[derive(Clone, Copy)]
pub(super) struct Tap {
    first: usize,
    second: usize,
    weights: [i32; 2],
    /// The weight of what lies outside the image.
    outside: i32,
}

impl Tap {
    /// At a coordinate of the source, whose pixel centres are whole numbers; outside of it lies [`FILL`].
    pub(super) fn at(coordinate: f64, length: usize) -> Self {
        let floor = coordinate.floor();
        let second_weight = ((coordinate - floor) * f64::from(ONE)).round_ties_even() as i32;
        // Beyond these there is nothing of the image; the cast must not overflow.
        let first = floor.clamp(-2.0, length as f64) as i64;
        let mut tap = Self {
            first: 0,
            second: 0,
            weights: [0, 0],
            outside: 0,
        };
        for (index, weight, slot) in [
            (first, ONE - second_weight, 0),
            (first + 1, second_weight, 1),
        ] {
            match usize::try_from(index).ok().filter(|index| *index < length) {
                Some(index) => {
                    *(if slot == 0 {
                        &mut tap.first
                    } else {
                        &mut tap.second
                    }) = index;
                    tap.weights[slot] = weight;
                }
                None => tap.outside += weight,
            }
        }
        tap
    }

    /// Of output column `index` when `source` columns become `target`; the edge is repeated outside.
    fn resized(index: usize, source: usize, target: usize) -> Self {
        let scale = 1.0 / (target as f64 / source as f64);
        let coordinate = ((index as f64 + 0.5) * scale - 0.5) as f32;
        let floor = coordinate.floor();
        let (first, fraction) = match floor as i64 {
            low if low < 0 => (0, 0.0),
            high if high >= source as i64 - 1 => (source - 1, 0.0),
            inner => (inner as usize, coordinate - floor),
        };
        let weight = |part: f32| (part * ONE as f32).round_ties_even() as i32;
        Self {
            first,
            second: (first + 1).min(source - 1),
            weights: [weight(1.0 - fraction), weight(fraction)],
            outside: 0,
        }
    }
}

/// Scales an image to a size; both sides must be at least 1.
pub(super) fn resize(source: &RgbImage, width: u32, height: u32) -> RgbImage {
    if source.width == 2 * width && source.height == 2 * height {
        return halve(source);
    }
    let taps = |from: u32, to: u32| -> Vec<Tap> {
        (0..to as usize)
            .map(|index| Tap::resized(index, from as usize, to as usize))
            .collect()
    };
    resample(
        source,
        &taps(source.width, width),
        &taps(source.height, height),
    )
}

/// One output pixel for each pair of a column and a row.
pub(super) fn resample(source: &RgbImage, columns: &[Tap], rows: &[Tap]) -> RgbImage {
    let stride = source.width as usize * 3;
    let mut pixels = vec![0; columns.len() * rows.len() * 3];
    // The rows blended last, horizontally resampled: neighbouring output rows share them.
    let mut upper = Row::new(columns.len());
    let mut lower = Row::new(columns.len());
    for (out, tap) in pixels
        .chunks_exact_mut((columns.len() * 3).max(1))
        .zip(rows)
    {
        if lower.index == Some(tap.first) {
            std::mem::swap(&mut upper, &mut lower);
        }
        for (row, index) in [(&mut upper, tap.first), (&mut lower, tap.second)] {
            row.load(
                &source.pixels[index * stride..(index + 1) * stride],
                index,
                columns,
            );
        }
        upper.weigh(tap.weights[0]);
        lower.weigh(tap.weights[1]);
        let outside = high_half(tap.outside as i16, ((i32::from(FILL) * ONE) >> 4) as i16);
        blend(&upper, &lower, outside, out);
    }
    RgbImage {
        width: columns.len() as u32,
        height: rows.len() as u32,
        pixels,
    }
}

/// A source row at the output's columns, weighted horizontally.
struct Row {
    index: Option<usize>,
    /// A sixteenth of the weighted sums: 15 bits, so that the product with a weight needs 32.
    values: Vec<i16>,
    /// The vertical weight, once per value. As a constant the compiler would widen it ahead of the loop, and
    /// then not see that it may multiply eight values at a time.
    weights: Vec<i16>,
}

impl Row {
    fn new(columns: usize) -> Self {
        Self {
            index: None,
            values: vec![0; columns * 3],
            weights: vec![0; columns * 3],
        }
    }

    fn load(&mut self, source: &[u8], index: usize, columns: &[Tap]) {
        if self.index == Some(index) {
            return;
        }
        self.index = Some(index);
        let pixels = source.as_chunks::<3>().0;
        for (out, tap) in self.values.as_chunks_mut::<3>().0.iter_mut().zip(columns) {
            let (first, second) = (pixels[tap.first], pixels[tap.second]);
            for channel in 0..3 {
                let sum = i32::from(first[channel]) * tap.weights[0]
                    + i32::from(second[channel]) * tap.weights[1]
                    + i32::from(FILL) * tap.outside;
                out[channel] = (sum >> 4) as i16;
            }
        }
    }

    fn weigh(&mut self, weight: i32) {
        if self.weights.first() != Some(&(weight as i16)) {
            self.weights.fill(weight as i16);
        }
    }
}

/// Adds two weighted rows and what lies outside of both.
fn blend(upper: &Row, lower: &Row, outside: i16, out: &mut [u8]) {
    let upper = upper.values.iter().zip(&upper.weights);
    let lower = lower.values.iter().zip(&lower.weights);
    for ((out, upper), lower) in out.iter_mut().zip(upper).zip(lower) {
        let sum = high_half(*upper.0, *upper.1) + high_half(*lower.0, *lower.1) + outside;
        *out = ((sum + 2) >> 2).clamp(0, 255) as u8;
    }
}

/// The upper half of a product.
#[inline(always)]
fn high_half(a: i16, b: i16) -> i16 {
    ((i32::from(a) * i32::from(b)) >> 16) as i16
}

fn halve(source: &RgbImage) -> RgbImage {
    let (width, height) = (source.width / 2, source.height / 2);
    let stride = source.width as usize * 3;
    let mut pixels = vec![0; width as usize * height as usize * 3];
    let pairs = source.pixels.chunks_exact(stride * 2);
    for (out, rows) in pixels.chunks_exact_mut(width as usize * 3).zip(pairs) {
        let (upper, lower) = rows.split_at(stride);
        let blocks = upper
            .as_chunks::<6>()
            .0
            .iter()
            .zip(lower.as_chunks::<6>().0);
        for (out, (upper, lower)) in out.as_chunks_mut::<3>().0.iter_mut().zip(blocks) {
            for channel in 0..3 {
                let sum = u16::from(upper[channel])
                    + u16::from(upper[channel + 3])
                    + u16::from(lower[channel])
                    + u16::from(lower[channel + 3]);
                out[channel] = ((sum + 2) >> 2) as u8;
            }
        }
    }
    RgbImage {
        width,
        height,
        pixels,
    }
}

#[cfg(test)]
mod tests {
    use super::super::random::tests::{golden, picture};
    use super::*;

    #[test]
    fn resize_equals_opencv() {
        for case in golden("resize") {
            let size = |key: &str| -> [u32; 2] {
                serde_json::from_value(case[key].clone()).expect("a pair")
            };
            let ([width, height], [columns, rows]) = (size("source"), size("target"));
            let expected: Vec<u8> = serde_json::from_value(case["pixels"].clone()).expect("bytes");
            let resized = resize(&picture(width, height), columns, rows);
            assert_eq!((resized.width, resized.height), (columns, rows));
            let off = resized
                .pixels
                .iter()
                .zip(&expected)
                .filter(|(got, want)| got.abs_diff(**want) > 1)
                .count();
            let differ = resized
                .pixels
                .iter()
                .zip(&expected)
                .filter(|(got, want)| got != want)
                .count();
            assert_eq!(off, 0, "{width}x{height} to {columns}x{rows}");
            assert!(
                differ * 20 <= expected.len(),
                "{differ} of {} differ",
                expected.len()
            );
        }
    }

    #[test]
    fn outside_is_filled() {
        let white = RgbImage {
            width: 2,
            height: 2,
            pixels: vec![255; 12],
        };
        let taps: Vec<Tap> = [-5.0, -0.5, 0.0, 1.5, 9.0]
            .iter()
            .map(|at| Tap::at(*at, 2))
            .collect();
        let row = |image: &RgbImage, y: usize| -> Vec<u8> {
            (0..5).map(|x| image.pixels[(y * 5 + x) * 3]).collect()
        };
        let out = resample(&white, &taps, &taps);
        assert_eq!(row(&out, 0), [114; 5]);
        assert_eq!(row(&out, 2), [114, 185, 255, 185, 114]);
        assert_eq!(row(&out, 1)[1], 149);
    }
}
