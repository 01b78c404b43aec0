//! Time as the simulated vendor knows it.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};

/// Which time a simulator lives in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClockKind {
    /// Moves only by `POST /_sim/clock` or [`Cloud::advance`](crate::Cloud::advance). Starts at the given moment, or at the real one.
    Virtual(Option<DateTime<Utc>>),
    /// The machine's own, plus what it was advanced by.
    Real,
}

/// The simulator's clock.
#[derive(Debug, Clone)]
pub struct Clock {
    /// `None`: the real time.
    frozen: Option<DateTime<Utc>>,
    advanced: TimeDelta,
}

impl Clock {
    /// A clock that starts now, or at the kind's own moment.
    #[must_use]
    pub fn new(kind: ClockKind) -> Self {
        let frozen = match kind {
            ClockKind::Real => None,
            ClockKind::Virtual(start) => Some(start.unwrap_or_else(Utc::now)),
        };
        Self {
            frozen,
            advanced: TimeDelta::zero(),
        }
    }

    /// The time there, UTC.
    #[must_use]
    pub fn now(&self) -> DateTime<Utc> {
        self.frozen.unwrap_or_else(Utc::now) + self.advanced
    }

    /// Lets time pass at once.
    pub fn advance(&mut self, by: Duration) {
        self.advanced += TimeDelta::from_std(by).unwrap_or(TimeDelta::MAX);
    }
}
