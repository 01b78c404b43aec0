//! What is paid for, as intervals. Where a change was not seen the moment it happened, the dearer state
//! is assumed until it was: a bill is never shown too low.

use chrono::{DateTime, Utc};
use gpurun_pricing::{BilledState, StateInterval};

/// The box is in `state`, since `since` if the provider says so, and was seen in it at `at`.
pub(super) fn enter(
    intervals: &mut Vec<StateInterval>,
    state: BilledState,
    since: Option<DateTime<Utc>>,
    at: DateTime<Utc>,
) {
    let from = since.unwrap_or(at).min(at);
    if let Some(open) = open(intervals) {
        if open.state == state {
            return;
        }
        let changed = from.max(open.from);
        open.to = Some(changed);
        intervals.push(StateInterval {
            state,
            from: changed,
            to: None,
        });
        return;
    }
    intervals.push(StateInterval {
        state,
        from,
        to: None,
    });
}

/// The box was seen to be gone at `at`.
pub(super) fn close(intervals: &mut [StateInterval], at: DateTime<Utc>) {
    if let Some(open) = open(intervals) {
        open.to = Some(at.max(open.from));
    }
}

fn open(intervals: &mut [StateInterval]) -> Option<&mut StateInterval> {
    intervals
        .last_mut()
        .filter(|interval| interval.to.is_none())
}
