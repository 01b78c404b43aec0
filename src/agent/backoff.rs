//! When to try a failed push again: pure.

use chrono::{DateTime, TimeDelta, Utc};

const FIRST: i64 = 5;
const LONGEST: i64 = 300;

/// When to try again after this many failures in a row: 5 s, 10 s, 20 s … and every 5 minutes at last.
/// It never gives up: a destination may be emptied, a key renewed, a network repaired.
pub(crate) fn retry_at(failures: u32, failed_at: DateTime<Utc>) -> DateTime<Utc> {
    let doublings = failures.saturating_sub(1).min(10);
    failed_at + TimeDelta::seconds((FIRST << doublings).min(LONGEST))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_five_minutes() {
        let at = DateTime::UNIX_EPOCH;
        let waits: Vec<i64> = [1, 2, 3, 4, 7, 8, 1000]
            .into_iter()
            .map(|failures| (retry_at(failures, at) - at).num_seconds())
            .collect();
        assert_eq!(waits, [5, 10, 20, 40, 300, 300, 300]);
    }
}
