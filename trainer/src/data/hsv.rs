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

/// Pixels worked on at a time, so that the compiler turns each step into vector instructions.
const LANES: usize = 32;

/// Shifts the channels of some pixels, given plane by plane: hue around, saturation and value within their range.
///
/// As in OpenCV the pixels pass through 8-bit HSV, whose rounding costs a few levels; where nothing is to be
/// shifted they don't.
pub(super) fn shift(red: &mut [u8], green: &mut [u8], blue: &mut [u8], shifts: [i32; 3]) {
    if shifts == [0; 3] {
        return;
    }
    let shifts = shifts.map(|shift| shift as f32);
    let (red, red_rest) = red.as_chunks_mut::<LANES>();
    let (green, green_rest) = green.as_chunks_mut::<LANES>();
    let (blue, blue_rest) = blue.as_chunks_mut::<LANES>();
    for ((red, green), blue) in red.iter_mut().zip(green).zip(blue) {
        shift_lanes([red, green, blue], shifts);
    }
    let rest = red_rest.len();
    let mut padded = [[0; LANES]; 3];
    let [red, green, blue] = &mut padded;
    red[..rest].copy_from_slice(red_rest);
    green[..rest].copy_from_slice(green_rest);
    blue[..rest].copy_from_slice(blue_rest);
    shift_lanes([red, green, blue], shifts);
    red_rest.copy_from_slice(&red[..rest]);
    green_rest.copy_from_slice(&green[..rest]);
    blue_rest.copy_from_slice(&blue[..rest]);
}

fn shift_lanes([red, green, blue]: [&mut [u8; LANES]; 3], shifts: [f32; 3]) {
    for lane in 0..LANES {
        let [hue, saturation, value] = to_hsv([red[lane], green[lane], blue[lane]].map(f32::from));
        let hue = hue + shifts[0];
        let hue = if hue < 0.0 { hue + HUES } else { hue };
        let hue = if hue >= HUES { hue - HUES } else { hue };
        let saturation = (saturation + shifts[1]).clamp(0.0, 255.0);
        let value = (value + shifts[2]).clamp(0.0, 255.0);
        let chroma = value * saturation * (1.0 / 255.0);
        let position = hue * (6.0 / HUES);
        red[lane] = to_byte(channel(5.0, position, value, chroma));
        green[lane] = to_byte(channel(3.0, position, value, chroma));
        blue[lane] = to_byte(channel(1.0, position, value, chroma));
    }
}

/// Hues go around after this many.
const HUES: f32 = 180.0;

/// Whole numbers: hue in `[0, 180)`, saturation and value in `[0, 255]`.
#[inline(always)]
fn to_hsv([red, green, blue]: [f32; 3]) -> [f32; 3] {
    let value = red.max(green).max(blue);
    let range = value - red.min(green).min(blue);
    let sextant = if value == green {
        blue - red + 2.0 * range
    } else {
        red - green + 4.0 * range
    };
    let sextant = if value == red { green - blue } else { sextant };
    // Numerators are 0 wherever a divisor is, and so is the result, as it has to be.
    let hue = round(sextant * (HUES / 6.0) / range.max(1.0));
    let saturation = round(range * 255.0 / value.max(1.0));
    [if hue < 0.0 { hue + HUES } else { hue }, saturation, value]
}

/// One channel of a colour: 5 is red, 3 green, 1 blue. (Foley et al., without the six cases.)
#[inline(always)]
fn channel(offset: f32, position: f32, value: f32, chroma: f32) -> f32 {
    let around = position + offset;
    let around = if around >= 6.0 { around - 6.0 } else { around };
    value - chroma * around.min(4.0 - around).clamp(0.0, 1.0)
}

/// To the next whole number. Adding a number whose last bit is worth 1 rounds without the library call that
/// `round` is on processors of the common denominator.
#[inline(always)]
fn round(value: f32) -> f32 {
    const SHIFT: f32 = 1.5 * (1 << 23) as f32;
    (value + SHIFT) - SHIFT
}

/// Of a value in `[0, 255]`; the whole number stands in the last bits after the same trick.
#[inline(always)]
fn to_byte(value: f32) -> u8 {
    const SHIFT: f32 = (1 << 23) as f32;
    (value + SHIFT).to_bits() as u8
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
            let pixels = picture(16, 12).pixels;
            let [mut red, mut green, mut blue]: [Vec<u8>; 3] = std::array::from_fn(|plane| {
                pixels.iter().copied().skip(plane).step_by(3).collect()
            });
            // Two parts, neither of which is a multiple of the lanes.
            for part in [0..75, 75..192] {
                let planes = [&mut red, &mut green, &mut blue];
                let [red, green, blue] = planes.map(|plane| &mut plane[part.clone()]);
                shift(red, green, blue, shifts);
            }
            // Leaving all channels alone skips the round trip, which loses a few levels to 8-bit HSV.
            let allowed = if shifts == [0; 3] { 6 } else { 1 };
            for (index, want) in expected.iter().enumerate() {
                let got = [&red, &green, &blue][index % 3][index / 3];
                assert!(
                    got.abs_diff(*want) <= allowed,
                    "{got} for {want} at {index}, shifts {shifts:?}"
                );
            }
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
