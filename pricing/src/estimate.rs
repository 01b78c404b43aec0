//! What a whole job will cost, before anything is rented.

use serde::{Deserialize, Serialize};

use crate::money::{HourlyRate, Money};
use crate::quantity::{Gigabytes, Hours};
use crate::rate_card::RateCard;

/// How long each part of a job takes and what it moves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobShape {
    /// Boot, image, installation, proof.
    pub setup: Hours,
    /// Data onto the box.
    pub staging: Hours,
    pub training: TrainingTime,
    /// The last push, and the read-back that proves the end.
    pub teardown: Hours,
    pub disk: Gigabytes,
    pub inbound: Gigabytes,
    pub outbound: Gigabytes,
}

/// Where the training hours come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TrainingTime {
    /// Known, from a profile or an earlier run.
    Expected(Hours),
    /// Not known: at most the cap, so the total is an upper bound.
    AtMost(Hours),
}

/// An itemised estimate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Estimate {
    pub lines: Vec<EstimateLine>,
    pub hours: Hours,
    pub total: Money,
    /// The total is the most it can be, not what it is expected to be.
    pub upper_bound: bool,
}

/// One item, with the sum it comes from: `11.8 h x $3.4828/h`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EstimateLine {
    pub what: &'static str,
    pub sum: String,
    pub amount: Money,
}

impl TrainingTime {
    pub fn hours(self) -> Hours {
        match self {
            Self::Expected(hours) | Self::AtMost(hours) => hours,
        }
    }
}

/// The factors of a job's sum under one card.
struct Parts {
    /// As it is billed, rounded up.
    billed: Hours,
    /// What rounding up adds.
    added: Hours,
    disk: HourlyRate,
}

impl Parts {
    fn of(card: &RateCard, job: &JobShape) -> Self {
        let exact = job.setup + job.staging + job.training.hours() + job.teardown;
        let billed = Hours::from_time_delta(card.billed_time(exact.to_time_delta())).max(exact);
        Self {
            billed,
            added: billed - exact,
            disk: card.disk_running.per_hour(job.disk, card.hours_per_month),
        }
    }

    /// In the order of the lines: five stretches of time, the disk, traffic in and out.
    fn amounts(&self, card: &RateCard, job: &JobShape) -> [Money; 8] {
        [
            card.running * job.setup,
            card.running * job.staging,
            card.running * job.training.hours(),
            card.running * job.teardown,
            card.running * self.added,
            self.disk * self.billed,
            card.inbound * job.inbound,
            card.outbound * job.outbound,
        ]
    }
}

/// Below half a cent a line isn't shown, and what isn't shown isn't added.
fn is_shown(amount: Money) -> bool {
    !amount.as_shown().is_zero()
}

/// The total of [`estimate`] alone, for ranking many offers.
pub fn total(card: &RateCard, job: &JobShape) -> Money {
    let amounts = Parts::of(card, job).amounts(card, job);
    amounts.into_iter().filter(|amount| is_shown(*amount)).sum()
}

/// Adds up a job under `card`. Parts that cost nothing have no line.
pub fn estimate(card: &RateCard, job: &JobShape) -> Estimate {
    let parts = Parts::of(card, job);
    let Parts {
        billed,
        added,
        disk,
    } = parts;
    let timed = |hours: Hours| format!("{hours} x {}", card.running);
    let sums = [
        ("set-up", timed(job.setup)),
        ("data in", timed(job.staging)),
        ("training", timed(job.training.hours())),
        ("teardown", timed(job.teardown)),
        ("rounding up", timed(added)),
        (
            "disk",
            format!("{billed} x {disk} ({} x {})", job.disk, card.disk_running),
        ),
        ("traffic in", format!("{} x {}", job.inbound, card.inbound)),
        (
            "traffic out",
            format!("{} x {}", job.outbound, card.outbound),
        ),
    ];
    let amounts = parts.amounts(card, job);
    let lines: Vec<EstimateLine> = sums
        .into_iter()
        .zip(amounts)
        .filter(|(_, amount)| is_shown(*amount))
        .map(|((what, sum), amount)| EstimateLine { what, sum, amount })
        .collect();
    Estimate {
        total: lines.iter().map(|line| line.amount).sum(),
        lines,
        hours: billed,
        upper_bound: matches!(job.training, TrainingTime::AtMost(_)),
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use rust_decimal_macros::dec;

    use super::*;
    use crate::money::GigabyteMonthRate;
    use crate::quantity::HoursPerMonth;
    use crate::rate_card::tests::measured;

    fn job() -> JobShape {
        JobShape {
            setup: Hours::from_minutes(dec!(10)),
            staging: Hours::from_minutes(dec!(5)),
            training: TrainingTime::Expected(Hours::new(dec!(11.5))),
            teardown: Hours::from_minutes(dec!(3)),
            disk: Gigabytes::new(dec!(250)),
            inbound: Gigabytes::new(dec!(43)),
            outbound: Gigabytes::new(dec!(1)),
        }
    }

    #[test]
    fn every_part_is_a_line_and_the_lines_add_up() {
        let estimate = estimate(&measured(HoursPerMonth::THIRTY_DAYS), &job());
        let lines: Vec<String> = estimate
            .lines
            .iter()
            .map(|line| format!("{}: {} = {}", line.what, line.sum, line.amount))
            .collect();
        assert_eq!(
            lines,
            [
                "set-up: 10 min x $3.4828/h = $0.58",
                "data in: 5 min x $3.4828/h = $0.29",
                "training: 11.5 h x $3.4828/h = $40.05",
                "teardown: 3 min x $3.4828/h = $0.17",
                "traffic in: 43 GB x $0.003/GB = $0.13",
            ]
        );
        assert_eq!(estimate.total.to_string(), "$41.23");
        assert_eq!(estimate.hours.to_string(), "11.8 h");
        assert!(!estimate.upper_bound);
    }

    #[test]
    fn a_disk_quoted_apart_and_a_coarse_quantum_are_lines_of_their_own() {
        let mut card = measured(HoursPerMonth::THIRTY_DAYS);
        card.disk_running = GigabyteMonthRate::new(dec!(0.20));
        card.quantum_seconds = NonZeroU32::new(3600).expect("not zero");
        let capped = JobShape {
            training: TrainingTime::AtMost(Hours::new(dec!(16))),
            ..job()
        };
        let estimate = estimate(&card, &capped);
        let names: Vec<&str> = estimate.lines.iter().map(|line| line.what).collect();
        assert_eq!(
            names,
            [
                "set-up",
                "data in",
                "training",
                "teardown",
                "rounding up",
                "disk",
                "traffic in"
            ]
        );
        assert_eq!(estimate.hours, Hours::new(dec!(17)));
        assert_eq!(
            estimate.lines[5].sum,
            "17 h x $0.0694/h (250 GB x $0.20/GB-month)"
        );
        assert!(estimate.upper_bound);
    }
}
