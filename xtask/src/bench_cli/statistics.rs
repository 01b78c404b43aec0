//! What many timings of one command come to.

use std::time::Duration;

/// One start of a command, from before the fork to after the exit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Timing {
    pub(super) elapsed: Duration,
    /// On a processor, in the program and in the kernel for it: what others on the machine hardly change.
    pub(super) cpu: Duration,
}

/// The medians of many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Summary {
    pub(super) elapsed: Duration,
    pub(super) cpu: Duration,
}

impl Summary {
    /// Of at least one timing.
    pub(super) fn of(timings: &[Timing]) -> Self {
        Self {
            elapsed: median(timings.iter().map(|timing| timing.elapsed)),
            cpu: median(timings.iter().map(|timing| timing.cpu)),
        }
    }
}

fn median(times: impl Iterator<Item = Duration>) -> Duration {
    let mut times: Vec<Duration> = times.collect();
    times.sort_unstable();
    times[times.len() / 2]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_slow_timing_moves_no_median() {
        let timings = |slowest: u64| -> Vec<Timing> {
            (1..=20)
                .rev()
                .chain([slowest])
                .map(|milliseconds| Timing {
                    elapsed: Duration::from_millis(milliseconds),
                    cpu: Duration::from_micros(milliseconds),
                })
                .collect()
        };
        let summary = Summary::of(&timings(1_000));
        assert_eq!(summary, Summary::of(&timings(60_000)));
        assert_eq!(summary.elapsed, Duration::from_millis(11));
        assert_eq!(summary.cpu, Duration::from_micros(11));
    }
}
