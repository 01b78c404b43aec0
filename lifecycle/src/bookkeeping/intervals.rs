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
    if let Some(open) = open(intervals)
        && open.state == state
    {
        open.certain_until = open.certain_until.max(Some(at));
        return;
    }
    let from = match since {
        Some(_) => close(intervals, End::Timed(from)),
        None => close(intervals, End::Seen(from)),
    }
    .unwrap_or(from);
    intervals.push(StateInterval {
        state,
        from,
        to: None,
        certain_until: Some(at),
    });
}

/// How the end of a state is known.
#[derive(Clone, Copy)]
pub(super) enum End {
    /// The provider says when, or it was our doing.
    Timed(DateTime<Utc>),
    /// Then it was over; when it ended, nobody says.
    Seen(DateTime<Utc>),
}

/// The state that lasts, if any, is over. Returns when.
pub(super) fn close(intervals: &mut [StateInterval], end: End) -> Option<DateTime<Utc>> {
    let open = open(intervals)?;
    let at = match end {
        End::Timed(at) => {
            open.certain_until = None;
            at
        }
        End::Seen(at) => {
            open.certain_until.get_or_insert(open.from);
            at
        }
    };
    let at = at.max(open.from);
    open.to = Some(at);
    Some(at)
}

fn open(intervals: &mut [StateInterval]) -> Option<&mut StateInterval> {
    intervals
        .last_mut()
        .filter(|interval| interval.to.is_none())
}
