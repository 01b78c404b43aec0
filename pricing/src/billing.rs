//! What a run has cost and what it burns, from the states its box has been in.

use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};

use crate::money::{HourlyRate, Money};
use crate::quantity::Gigabytes;
use crate::rate_card::RateCard;

/// The two states that cost money. A destroyed box has no interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BilledState {
    Running,
    Stopped,
}

/// A stretch of time in one state, as the ledger keeps it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StateInterval {
    pub state: BilledState,
    pub from: DateTime<Utc>,
    /// `None` while it lasts.
    pub to: Option<DateTime<Utc>>,
    /// The last moment it was certainly in that state, where `to` is only when somebody saw that it no longer was. `None`:
    /// `to` is the provider's own word, or our doing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certain_until: Option<DateTime<Utc>>,
}

/// All that a provider charges one box for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// In any order. Where two overlap, as after a change that was seen late, the later one begins where the earlier
    /// ends, and an open one ends where the next begins: no moment is billed twice.
    pub intervals: Vec<StateInterval>,
    /// Allocated, not used: that is what storage is billed by.
    pub disk: Gigabytes,
    pub inbound: Gigabytes,
    pub outbound: Gigabytes,
}

/// One interval of a bill.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BillLine {
    pub state: BilledState,
    pub from: DateTime<Utc>,
    /// Where it ended, or `now`.
    pub until: DateTime<Utc>,
    /// Still lasting.
    pub open: bool,
    pub rate: HourlyRate,
    /// Of `amount`: what is charged for the time in which nobody knows whether it had ended. Nothing of a line that is open.
    pub estimated: Money,
    /// What of it is billed; more than `until - from` where the provider rounds up, in the last interval of a stretch.
    #[serde(serialize_with = "seconds")]
    pub billed: TimeDelta,
    pub amount: Money,
}

/// What a run has cost so far and what it burns now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RunCost {
    pub so_far: Money,
    /// Of `so_far`: what an end that nobody timed may have been too late by. The bill may be this much lower.
    pub estimated: Money,
    /// Of `so_far`: traffic both ways.
    pub traffic: Money,
    pub burn_per_hour: HourlyRate,
    pub lines: Vec<BillLine>,
}

/// Adds up `usage` under `card` at `now`. Intervals that have not begun by `now` cost nothing yet, and a clock that
/// ran backwards makes an interval empty, never negative: the sum never falls as `now` grows.
pub fn run_cost(usage: &Usage, card: &RateCard, now: DateTime<Utc>) -> RunCost {
    let lines = lines(usage, card, now);
    let traffic = card.inbound * usage.inbound + card.outbound * usage.outbound;
    let so_far = lines.iter().map(|line| line.amount).sum::<Money>() + traffic;
    let burn_per_hour = lines
        .iter()
        .filter(|line| line.open)
        .map(|line| line.rate)
        .sum();
    RunCost {
        so_far,
        estimated: lines.iter().map(|line| line.estimated).sum(),
        traffic,
        burn_per_hour,
        lines,
    }
}

fn lines(usage: &Usage, card: &RateCard, now: DateTime<Utc>) -> Vec<BillLine> {
    let mut intervals = usage
        .intervals
        .iter()
        .filter(|interval| interval.from <= now)
        .collect::<Vec<_>>();
    intervals.sort_by_key(|interval| interval.from);
    let mut lines: Vec<BillLine> = Vec::with_capacity(intervals.len());
    // Running time since the last start, over intervals that touch: a provider rounds a session, not our entries.
    let mut session = TimeDelta::zero();
    for (index, interval) in intervals.iter().enumerate() {
        let next = intervals.get(index + 1).map(|next| next.from);
        let end = interval.to.or(next);
        let from = lines
            .last()
            .map_or(interval.from, |line| interval.from.max(line.until));
        let until = end.unwrap_or(now).clamp(from, now.max(from));
        let running = interval.state == BilledState::Running;
        let goes_on = running
            && lines
                .last()
                .is_some_and(|line| line.state == interval.state && line.until == from);
        let already = if goes_on { session } else { TimeDelta::zero() };
        session = already + (until - from);
        // What an earlier part of the session was rounded up by has paid for the beginning of this one.
        let billed = if running {
            card.billed_time(session) - card.billed_time(already)
        } else {
            until - from
        };
        let rate = match interval.state {
            BilledState::Running => card.running_rate(usage.disk),
            BilledState::Stopped => card.stopped_rate(usage.disk),
        };
        let open = end.is_none_or(|end| end > now);
        let amount = rate.charge_for(billed);
        let certain = match interval.certain_until {
            Some(certain) if !open => certain.clamp(from, until) - from,
            _ => until - from,
        };
        let billed_for_certain = if running {
            card.billed_time(already + certain) - card.billed_time(already)
        } else {
            certain
        };
        lines.push(BillLine {
            state: interval.state,
            from,
            until,
            open,
            rate,
            estimated: amount - rate.charge_for(billed_for_certain),
            billed,
            amount,
        });
    }
    lines
}

fn seconds<S: serde::Serializer>(time: &TimeDelta, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_i64(time.num_seconds())
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use proptest::prelude::*;
    use rust_decimal_macros::dec;

    use super::*;
    use crate::quantity::HoursPerMonth;
    use crate::rate_card::tests::measured;

    fn at(seconds: i64) -> DateTime<Utc> {
        DateTime::UNIX_EPOCH + TimeDelta::seconds(seconds)
    }

    fn interval(state: BilledState, from: i64, to: Option<i64>) -> StateInterval {
        StateInterval {
            state,
            from: at(from),
            to: to.map(at),
            certain_until: None,
        }
    }

    fn usage(intervals: Vec<StateInterval>) -> Usage {
        Usage {
            intervals,
            disk: Gigabytes::new(dec!(250)),
            ..Usage::default()
        }
    }

    #[test]
    fn a_run_that_was_stopped_and_started_is_the_sum_of_its_states() {
        use BilledState::{Running, Stopped};
        let mut usage = usage(vec![
            interval(Running, 0, Some(7200)),
            interval(Stopped, 7200, Some(7200 + 36_000)),
            interval(Running, 43_200, None),
        ]);
        usage.inbound = Gigabytes::new(dec!(43));
        let cost = run_cost(
            &usage,
            &measured(HoursPerMonth::THIRTY_DAYS),
            at(43_200 + 1800),
        );
        let amounts: Vec<String> = cost
            .lines
            .iter()
            .map(|line| line.amount.to_string())
            .collect();
        assert_eq!(amounts, ["$6.97", "$0.69", "$1.74"]);
        assert_eq!(cost.traffic, Money::new(dec!(0.129)));
        assert_eq!(cost.so_far.to_string(), "$9.53");
        assert_eq!(cost.burn_per_hour.figure(), "3.4828");
        assert_eq!(
            cost.lines.iter().map(|line| line.open).collect::<Vec<_>>(),
            [false, false, true]
        );
    }

    #[test]
    fn a_destroyed_box_burns_nothing() {
        let usage = usage(vec![interval(BilledState::Running, 0, Some(3600))]);
        let cost = run_cost(&usage, &measured(HoursPerMonth::THIRTY_DAYS), at(1_000_000));
        assert_eq!(
            (cost.so_far, cost.burn_per_hour),
            (Money::new(dec!(3.4828)), HourlyRate::ZERO)
        );
        let nothing = run_cost(
            &Usage::default(),
            &measured(HoursPerMonth::THIRTY_DAYS),
            at(0),
        );
        assert_eq!(nothing.so_far, Money::ZERO);
    }

    #[test]
    fn a_session_is_rounded_up_once_however_many_entries_it_has() {
        use BilledState::Running;
        let mut card = measured(HoursPerMonth::THIRTY_DAYS);
        card.quantum_seconds = NonZeroU32::new(60).expect("not zero");
        let whole = run_cost(
            &usage(vec![interval(Running, 0, Some(130))]),
            &card,
            at(500),
        );
        let parts = [
            interval(Running, 0, Some(10)),
            interval(Running, 10, Some(90)),
            interval(Running, 90, Some(130)),
        ];
        let split = run_cost(&usage(parts.to_vec()), &card, at(500));
        assert_eq!(split.so_far.amount().round_dp(20), whole.so_far.amount());
        assert_eq!(whole.lines[0].billed, TimeDelta::seconds(180));
        let twice = [
            interval(Running, 0, Some(10)),
            interval(Running, 20, Some(30)),
        ];
        let billed = run_cost(&usage(twice.to_vec()), &card, at(500))
            .lines
            .iter()
            .map(|line| line.billed)
            .sum();
        assert_eq!(
            TimeDelta::seconds(120),
            billed,
            "two starts are two sessions"
        );
    }

    #[test]
    fn no_moment_is_billed_twice() {
        use BilledState::{Running, Stopped};
        let card = measured(HoursPerMonth::THIRTY_DAYS);
        let late = [
            interval(Running, 0, Some(3600)),
            interval(Stopped, 3000, Some(7200)),
        ];
        let cost = run_cost(&usage(late.to_vec()), &card, at(7200));
        assert_eq!(
            (cost.lines[1].from, cost.lines[1].billed),
            (at(3600), TimeDelta::seconds(3600))
        );
        let never_closed = [interval(Running, 0, None), interval(Stopped, 3600, None)];
        let cost = run_cost(&usage(never_closed.to_vec()), &card, at(7200));
        assert_eq!(cost.burn_per_hour.figure(), "0.0694");
        assert_eq!(cost.lines[0].amount, Money::new(dec!(3.4828)));
    }

    #[test]
    fn clocks_that_jump_never_make_a_bill_negative() {
        let card = measured(HoursPerMonth::THIRTY_DAYS);
        let backwards = run_cost(
            &usage(vec![interval(BilledState::Running, 100, Some(50))]),
            &card,
            at(200),
        );
        assert_eq!(backwards.so_far, Money::ZERO);
        let future = run_cost(
            &usage(vec![interval(BilledState::Running, 100, None)]),
            &card,
            at(50),
        );
        assert_eq!(
            (future.so_far, future.burn_per_hour),
            (Money::ZERO, HourlyRate::ZERO)
        );
    }

    #[test]
    fn an_end_that_was_seen_late_is_estimated_and_one_that_was_timed_is_not() {
        let card = measured(HoursPerMonth::THIRTY_DAYS);
        let mut ended = interval(BilledState::Running, 0, Some(3600));
        let exact = run_cost(&usage(vec![ended.clone()]), &card, at(7200));
        assert_eq!(exact.estimated, Money::ZERO);
        ended.certain_until = Some(at(2700));
        let late = run_cost(&usage(vec![ended.clone()]), &card, at(7200));
        // A quarter of an hour at $3.4828/h.
        assert_eq!(
            (late.so_far, late.estimated),
            (exact.so_far, Money::new(dec!(0.8707)))
        );
        // Before it was seen to be over, nothing was in doubt.
        assert_eq!(
            run_cost(&usage(vec![ended]), &card, at(3000)).estimated,
            Money::ZERO
        );
    }

    proptest! {
        #[test]
        fn the_sum_never_falls_as_time_goes_on(
            entries in prop::collection::vec((any::<bool>(), 0i64..10_000, prop::option::of(0i64..10_000)), 0..8),
            quantum in 1u32..400, now in 0i64..12_000, later in 0i64..3_000,
        ) {
            let mut card = measured(HoursPerMonth::THIRTY_DAYS);
            card.quantum_seconds = NonZeroU32::new(quantum).expect("from 1");
            let state = |running| if running { BilledState::Running } else { BilledState::Stopped };
            let usage = usage(entries.into_iter().map(|(running, from, to)| interval(state(running), from, to)).collect());
            let (before, after) = (run_cost(&usage, &card, at(now)), run_cost(&usage, &card, at(now + later)));
            prop_assert!(before.so_far >= Money::ZERO);
            prop_assert!(after.so_far >= before.so_far, "{} then {}", before.so_far, after.so_far);
            let longest = card.running_rate(usage.disk).charge_for(TimeDelta::seconds(now + 8 * i64::from(quantum)));
            prop_assert!(before.so_far <= longest, "no moment is billed twice");
        }
    }
}
