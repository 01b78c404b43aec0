//! The simulator's own bill: a pure function of what happened to a box and when.

use chrono::{DateTime, TimeDelta, Utc};
use rust_decimal::Decimal;
use rust_decimal_macros::dec;
use serde::Serialize;

use super::Phase;

/// One thing that costs money by the hour.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Rate {
    /// `gpu`, `disk`, …
    pub item: &'static str,
    /// Dollars an hour.
    pub hourly: Decimal,
    /// When it is charged.
    pub when: When,
}

/// In which phases a [`Rate`] is charged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum When {
    /// Only while the box runs.
    Running,
    /// From the create on, whenever it isn't stopped.
    Rented,
    /// Only while it is stopped.
    Stopped,
    /// As long as it exists.
    Exists,
}

/// Money for one thing that happened once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Charge {
    /// `traffic_in`, `traffic_out`, …
    pub item: &'static str,
    /// Dollars.
    pub amount: Decimal,
    /// When.
    pub at: DateTime<Utc>,
}

/// From this moment on, this phase and these rates.
#[derive(Debug, Clone)]
pub(crate) struct Moment {
    pub(crate) at: DateTime<Utc>,
    pub(crate) phase: Phase,
    pub(crate) rates: Vec<Rate>,
}

/// What the history cost up to `now`, item by item in dollars. Each unbroken run of an item is rounded up to whole `granularity`.
pub(crate) fn cost(
    history: &[Moment],
    granularity: TimeDelta,
    now: DateTime<Utc>,
) -> Vec<(&'static str, Decimal)> {
    let mut items: Vec<&'static str> = Vec::new();
    for rate in history.iter().flat_map(|moment| &moment.rates) {
        if !items.contains(&rate.item) {
            items.push(rate.item);
        }
    }
    items
        .into_iter()
        .map(|item| (item, cost_of(item, history, granularity, now)))
        .collect()
}

fn cost_of(item: &str, history: &[Moment], granularity: TimeDelta, now: DateTime<Utc>) -> Decimal {
    let mut total = Decimal::ZERO;
    let mut run = TimeDelta::zero();
    let mut last_hourly = Decimal::ZERO;
    for (index, moment) in history.iter().enumerate() {
        let end = history.get(index + 1).map_or(now, |next| next.at).min(now);
        let span = (end - moment.at).max(TimeDelta::zero());
        let rate = moment
            .rates
            .iter()
            .find(|rate| rate.item == item && rate.when.covers(&moment.phase));
        match rate {
            Some(rate) => {
                total += for_span(rate.hourly, span);
                run += span;
                last_hourly = rate.hourly;
            }
            None => {
                total += for_span(last_hourly, rest(run, granularity));
                run = TimeDelta::zero();
            }
        }
    }
    total + for_span(last_hourly, rest(run, granularity))
}

/// What is missing from `run` to the next whole `granularity`.
fn rest(run: TimeDelta, granularity: TimeDelta) -> TimeDelta {
    let step = granularity.num_milliseconds().max(1);
    let over = run.num_milliseconds() % step;
    if over == 0 {
        return TimeDelta::zero();
    }
    TimeDelta::milliseconds(step - over)
}

/// Multiplied before it is divided: thirds of an hour stay exact.
fn for_span(hourly: Decimal, span: TimeDelta) -> Decimal {
    hourly * Decimal::from(span.num_milliseconds()) / dec!(3600000)
}

impl When {
    pub(crate) fn covers(self, phase: &Phase) -> bool {
        let exists = match phase {
            Phase::Gone => false,
            Phase::Ending { billed, .. } => *billed,
            _ => true,
        };
        let off = matches!(
            phase,
            Phase::Stopped { .. } | Phase::Waiting | Phase::Lost | Phase::Ending { .. }
        );
        match self {
            Self::Running => matches!(phase, Phase::Running),
            Self::Rented => exists && !off,
            Self::Stopped => exists && off,
            Self::Exists => exists,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::Why;

    fn history(phases: &[(i64, Phase)]) -> Vec<Moment> {
        let rates = vec![
            Rate {
                item: "gpu",
                hourly: dec!(3.6),
                when: When::Running,
            },
            Rate {
                item: "disk",
                hourly: dec!(0.36),
                when: When::Exists,
            },
        ];
        phases
            .iter()
            .map(|(second, phase)| Moment {
                at: at(*second),
                phase: phase.clone(),
                rates: rates.clone(),
            })
            .collect()
    }

    fn at(second: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(second, 0).unwrap()
    }

    #[test]
    fn only_what_a_phase_covers_is_charged() {
        let moments = history(&[
            (
                0,
                Phase::Booting {
                    ready_at: Some(at(100)),
                },
            ),
            (100, Phase::Running),
            (1100, Phase::Stopped { why: Why::Asked }),
            (2000, Phase::Gone),
        ]);
        let bill = cost(&moments, TimeDelta::seconds(1), at(5000));
        assert_eq!(bill, [("gpu", dec!(1)), ("disk", dec!(0.2))]);
    }

    #[test]
    fn each_run_is_rounded_up_to_the_minute() {
        let moments = history(&[
            (0, Phase::Running),
            (61, Phase::Stopped { why: Why::Asked }),
            (100, Phase::Running),
            (130, Phase::Gone),
        ]);
        let bill = cost(&moments, TimeDelta::minutes(1), at(5000));
        // 61 s count as 120 and 30 s as 60.
        assert_eq!(bill.first(), Some(&("gpu", dec!(0.18))));
    }
}
