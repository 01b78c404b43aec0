//! Pairs of images that look alike, without comparing each with each.
//!
//! Hashes that differ in at most four of 64 bits agree in one of five bands of twelve, so only images that share a
//! band's value are compared (the pigeonhole principle). Of very many that share one, only the first are.

use std::collections::HashMap;

/// Bits in which two thumbnails' hashes may differ.
const MOST_DIFFERENT: u32 = 4;
const BANDS: usize = MOST_DIFFERENT as usize + 1;
const BAND_BITS: usize = 64 / BANDS;
/// Images compared of those that share a band's value.
const MOST_COMPARED: usize = 200;

/// Calls `visit` once for each pair of near hashes, with their places in `hashes`, the smaller first; in the order of
/// the bands' first images.
pub(super) fn near_pairs(hashes: &[u64], mut visit: impl FnMut(usize, usize)) {
    let buckets = Buckets::new(hashes);
    for (number, members) in buckets.members.iter().enumerate() {
        let compared = &members[..members.len().min(MOST_COMPARED)];
        for (index, &first) in compared.iter().enumerate() {
            for &second in &compared[index + 1..] {
                let different = (hashes[first] ^ hashes[second]).count_ones();
                if different <= MOST_DIFFERENT && buckets.meet_first_in(first, second, number) {
                    visit(first, second);
                }
            }
        }
    }
}

/// Images by band and the band's value, numbered as they come up.
struct Buckets {
    members: Vec<Vec<usize>>,
    /// For each image and band, the bucket's number and the image's place in it.
    places: Vec<[(usize, usize); BANDS]>,
}

impl Buckets {
    fn new(hashes: &[u64]) -> Self {
        let mut numbers: HashMap<(usize, u64), usize> = HashMap::new();
        let mut buckets = Self {
            members: Vec::new(),
            places: Vec::with_capacity(hashes.len()),
        };
        for (image, hash) in hashes.iter().enumerate() {
            let mut places = [(0, 0); BANDS];
            for (band, place) in places.iter_mut().enumerate() {
                let value = hash >> (band * BAND_BITS) & ((1 << BAND_BITS) - 1);
                let number = *numbers.entry((band, value)).or_insert_with(|| {
                    buckets.members.push(Vec::new());
                    buckets.members.len() - 1
                });
                *place = (number, buckets.members[number].len());
                buckets.members[number].push(image);
            }
            buckets.places.push(places);
        }
        buckets
    }

    /// Whether no bucket before this one has compared the two already.
    fn meet_first_in(&self, first: usize, second: usize, number: usize) -> bool {
        let mut bands = self.places[first].iter().zip(&self.places[second]);
        !bands.any(|((bucket, place), (other_bucket, other_place))| {
            bucket == other_bucket
                && *bucket < number
                && *place < MOST_COMPARED
                && *other_place < MOST_COMPARED
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(hashes: &[u64]) -> Vec<(usize, usize)> {
        let mut pairs = Vec::new();
        near_pairs(hashes, |first, second| pairs.push((first, second)));
        pairs
    }

    #[test]
    fn four_bits_are_near_and_five_are_not() {
        assert_eq!(pairs(&[0, 0b1111, 0b1_1111, u64::MAX]), [(0, 1), (1, 2)]);
        let spread = 1 | 1 << 13 | 1 << 26 | 1 << 39;
        assert_eq!(pairs(&[0, spread, spread | 1 << 52]), [(0, 1), (1, 2)]);
    }

    #[test]
    fn every_near_pair_is_found_once() {
        let mut random = fastrand::Rng::with_seed(5);
        let mut hashes = Vec::new();
        for _ in 0..60 {
            let base = random.u64(..);
            for _ in 0..3 {
                let flips = (0..random.u32(..4)).fold(0, |bits, _| bits | 1 << random.u32(..64));
                hashes.push(base ^ flips);
            }
        }
        let mut expected = Vec::new();
        for first in 0..hashes.len() {
            for second in first + 1..hashes.len() {
                if (hashes[first] ^ hashes[second]).count_ones() <= MOST_DIFFERENT {
                    expected.push((first, second));
                }
            }
        }
        let mut found = pairs(&hashes);
        found.sort_unstable();
        assert!(expected.len() > 60);
        assert_eq!(found, expected);
    }

    #[test]
    fn many_that_look_the_same_are_not_all_compared() {
        assert_eq!(
            pairs(&[7; 1000]).len(),
            MOST_COMPARED * (MOST_COMPARED - 1) / 2
        );
    }
}
