//! A small matrix product: a core that answers wrong shows here.

use std::time::Instant;

const SIZE: usize = 192;

/// Whether the product was right, and millions of multiply-adds per second.
pub(super) fn multiply() -> (bool, f64) {
    let left: Vec<f64> = (0..SIZE * SIZE).map(|at| (at % 7) as f64).collect();
    let right: Vec<f64> = (0..SIZE * SIZE).map(|at| (at % 5) as f64).collect();
    let began = Instant::now();
    let mut product = vec![0.0; SIZE * SIZE];
    for row in 0..SIZE {
        for middle in 0..SIZE {
            let factor = left[row * SIZE + middle];
            let line = &right[middle * SIZE..(middle + 1) * SIZE];
            let sums = &mut product[row * SIZE..(row + 1) * SIZE];
            for (sum, value) in sums.iter_mut().zip(line) {
                *sum += factor * value;
            }
        }
    }
    let seconds = began.elapsed().as_secs_f64().max(1e-9);
    (
        is_product(&left, &right, &product),
        (SIZE * SIZE * SIZE) as f64 / seconds / 1e6,
    )
}

/// Sums of rows, by another way and exactly: a product times a vector of ones is the left factor times the right
/// one's row sums. All numbers are small integers, so nothing is rounded.
fn is_product(left: &[f64], right: &[f64], product: &[f64]) -> bool {
    let row_sums = |matrix: &[f64]| -> Vec<i64> {
        matrix
            .chunks(SIZE)
            .map(|row| row.iter().map(|value| *value as i64).sum())
            .collect()
    };
    let right_sums = row_sums(right);
    let expected: Vec<i64> = left
        .chunks(SIZE)
        .map(|row| {
            row.iter()
                .zip(&right_sums)
                .map(|(value, sum)| *value as i64 * sum)
                .sum()
        })
        .collect();
    row_sums(product) == expected
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_product_is_right_and_a_wrong_element_shows() {
        assert!(multiply().0);
        let ones = vec![1.0; SIZE * SIZE];
        let mut product = vec![SIZE as f64; SIZE * SIZE];
        assert!(is_product(&ones, &ones, &product));
        product[SIZE + 3] += 1.0;
        assert!(!is_product(&ones, &ones, &product));
    }
}
