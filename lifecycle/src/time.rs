//! Times that never leave the calendar.

use chrono::{DateTime, TimeDelta, Utc};

/// Saturates instead of leaving the calendar.
pub(crate) fn later(at: DateTime<Utc>, by: TimeDelta) -> DateTime<Utc> {
    at.checked_add_signed(by)
        .unwrap_or(DateTime::<Utc>::MAX_UTC)
}

pub(crate) fn seconds(count: u64) -> TimeDelta {
    i64::try_from(count)
        .ok()
        .and_then(TimeDelta::try_seconds)
        .unwrap_or(TimeDelta::MAX)
}
