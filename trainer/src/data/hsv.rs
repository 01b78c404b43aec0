//! Colour jitter in HSV, hue 0 to 179, saturation and value 0 to 255 (OpenCV's 8-bit convention).

use fastrand::Rng;

use super::random::uniform;

/// Largest shifts of hue, saturation and value.
const GAINS: [f64; 3] = [5.0, 30.0, 30.0];

/// Draws shifts for the three channels; each is left alone half of the time.
pub(super) fn random_shifts(random: &mut Rng) -> [i32; 3] {
    let shifts = GAINS.map(|gain| uniform(random, -gain, gain) as i32);
    shifts.map(|shift| if random.bool() { shift } else { 0 })
}

/// Shifts the channels of interleaved RGB pixels: hue around, saturation and value within their range.
pub(super) fn shift(pixels: &mut [u8], shifts: [i32; 3]) {
    if shifts == [0; 3] {
        return;
    }
    let hues = HueTable::new();
    for pixel in pixels.as_chunks_mut::<3>().0 {
        let [h, s, v] = to_hsv(*pixel);
        let shifted = [
            (h + shifts[0]).rem_euclid(180),
            (s + shifts[1]).clamp(0, 255),
            (v + shifts[2]).clamp(0, 255),
        ];
        *pixel = hues.to_rgb(shifted);
    }
}

/// Fixed-point bits of the division tables.
const SHIFT: i32 = 12;
const SATURATION: [i32; 256] = division_table(255 << SHIFT, 1);
const HUE: [i32; 256] = division_table(180 << SHIFT, 6);

/// `numerator / (factor * index)`, rounded; 0 for 0.
const fn division_table(numerator: i32, factor: i32) -> [i32; 256] {
    let mut table = [0; 256];
    let mut index = 1;
    while index < 256 {
        let divisor = factor * index as i32;
        table[index] = (2 * numerator + divisor) / (2 * divisor);
        index += 1;
    }
    table
}

fn to_hsv([red, green, blue]: [u8; 3]) -> [i32; 3] {
    let [red, green, blue] = [red, green, blue].map(i32::from);
    let value = red.max(green).max(blue);
    let range = value - red.min(green).min(blue);
    let saturation = (range * SATURATION[value as usize] + (1 << (SHIFT - 1))) >> SHIFT;
    let sextant = if value == red {
        green - blue
    } else if value == green {
        blue - red + 2 * range
    } else {
        red - green + 4 * range
    };
    let hue = (sextant * HUE[range as usize] + (1 << (SHIFT - 1))) >> SHIFT;
    [if hue < 0 { hue + 180 } else { hue }, saturation, value]
}

/// For each hue which channels are full, empty and between, and how far between.
struct HueTable([(usize, f32); 180]);

impl HueTable {
    fn new() -> Self {
        Self(std::array::from_fn(|hue| {
            let position = hue as f32 * (6.0 / 180.0);
            (position as usize, position.fract())
        }))
    }

    fn to_rgb(&self, [hue, saturation, value]: [i32; 3]) -> [u8; 3] {
        let (sextant, fraction) = self.0[hue as usize];
        let (saturation, value) = (saturation as f32 / 255.0, value as f32);
        let full = value;
        let empty = value * (1.0 - saturation);
        let falling = value * (1.0 - saturation * fraction);
        let rising = value * (1.0 - saturation * (1.0 - fraction));
        let rgb = match sextant {
            0 => [full, rising, empty],
            1 => [falling, full, empty],
            2 => [empty, full, rising],
            3 => [empty, falling, full],
            4 => [rising, empty, full],
            _ => [full, empty, falling],
        };
        rgb.map(|channel| (channel + 0.5) as u8)
    }
}

#[cfg(test)]
mod tests {
    use super::super::random::tests::{golden, picture};
    use super::*;

    #[test]
    fn shifts_equal_opencv() {
        for case in golden("hsv") {
            let shifts: [i32; 3] =
                serde_json::from_value(case["gains"].clone()).expect("three shifts");
            let expected: Vec<u8> = serde_json::from_value(case["pixels"].clone()).expect("bytes");
            let mut pixels = picture(16, 12).pixels;
            shift(&mut pixels, shifts);
            // Leaving all channels alone skips the round trip, which loses a few levels to 8-bit HSV.
            let allowed = if shifts == [0; 3] { 6 } else { 1 };
            let worst = pixels
                .iter()
                .zip(&expected)
                .map(|(got, want)| got.abs_diff(*want))
                .max();
            assert!(worst <= Some(allowed), "{worst:?} for {shifts:?}");
        }
    }

    #[test]
    fn shifts_stay_within_their_gains_and_are_often_zero() {
        let mut random = Rng::with_seed(3);
        let drawn: Vec<[i32; 3]> = (0..400).map(|_| random_shifts(&mut random)).collect();
        for (channel, gain) in [5, 30, 30].into_iter().enumerate() {
            let values = || drawn.iter().map(|shifts| shifts[channel]);
            assert!(values().all(|value| value.abs() < gain));
            assert!(
                values().any(|value| value >= gain - 2) && values().any(|value| value <= 2 - gain)
            );
            assert!((150..300).contains(&values().filter(|value| *value == 0).count()));
        }
    }
}
