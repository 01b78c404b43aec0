//! The break-even, by example and by property.

mod examples;
mod learned;
mod odds;
mod properties;

use proptest::prelude::*;
use rust_decimal::Decimal;
use rust_decimal_macros::dec;

use super::*;
use crate::money::{HourlyRate, Money};
use crate::quantity::{Gigabytes, Hours, HoursPerMonth, Probability};
use crate::rate_card::StopSupport;
use crate::rate_card::tests::measured;

fn chance(value: Decimal) -> RestartOdds {
    RestartOdds::constant(Probability::new(value).expect("a probability"))
}

fn terms() -> RebuildTerms {
    RebuildTerms {
        setup: Hours::from_minutes(dec!(15)),
        resume: Hours::ZERO,
        retry: Money::ZERO,
        inbound: Gigabytes::new(dec!(43)),
    }
}

fn measured_box(month: HoursPerMonth) -> StopCosts {
    StopCosts::new(&measured(month), Gigabytes::new(dec!(250)), &terms())
}

fn as_billed() -> StopCosts {
    StopCosts {
        stopped: HourlyRate::new(dec!(0.0694)),
        ..measured_box(HoursPerMonth::THIRTY_DAYS)
    }
}

fn break_even(costs: &StopCosts, odds: &RestartOdds) -> String {
    costs
        .break_even(odds)
        .map_or_else(|| "never".into(), Hours::in_column)
}

fn trust(lambda: Decimal) -> Trust {
    Trust::new(Probability::new(lambda).expect("a probability")).expect("not zero")
}
