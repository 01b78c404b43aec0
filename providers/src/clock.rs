//! The wall clock, in the one form every adapter stamps times with.

use std::time::SystemTime;

use chrono::{DateTime, Utc};

/// The time now, to the millisecond: finer digits would only make ledgers longer.
pub(crate) fn now() -> DateTime<Utc> {
    let now = DateTime::<Utc>::from(SystemTime::now());
    DateTime::from_timestamp_millis(now.timestamp_millis()).unwrap_or(now)
}
