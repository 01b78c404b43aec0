//! What many timings of one command come to.

use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Summary {
    pub(super) median: Duration,
    /// A tenth of the timings were shorter: near what it takes undisturbed.
    pub(super) decile: Duration,
}

impl Summary {
    /// Of at least one timing.
    pub(super) fn of(mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        Self {
            median: times[times.len() / 2],
            decile: times[times.len() / 10],
        }
    }

    /// How many times the other's median this one's is.
    pub(super) fn over(&self, other: &Self) -> f64 {
        self.median.as_secs_f64() / other.median.as_secs_f64()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_slow_timing_moves_neither_median_nor_decile() {
        let times = |slowest| {
            (1..=20)
                .rev()
                .map(Duration::from_millis)
                .chain([Duration::from_secs(slowest)])
                .collect()
        };
        let summary = Summary::of(times(1));
        assert_eq!(summary, Summary::of(times(60)));
        assert_eq!(summary.median, Duration::from_millis(11));
        assert_eq!(summary.decile, Duration::from_millis(3));
        let half = Summary {
            median: summary.median / 2,
            ..summary
        };
        assert!((summary.over(&half) - 2.0).abs() < 1e-9);
    }
}
