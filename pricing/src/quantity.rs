//! What prices are multiplied by: hours, gigabytes, the length of a billed month, a probability.

use std::fmt;

use chrono::TimeDelta;
use rust_decimal::{Decimal, RoundingStrategy};
use rust_decimal_macros::dec;

use crate::decimal_unit::{QuantityError, QuantityVisitor, decimal_unit, parse, rounded};

decimal_unit! {
    /// A stretch of time in hours. People see one decimal, or minutes below one hour.
    Hours, what: "a number of hours", example: "10h",
    prefixes: &[], suffixes: &["hours", "hour", "h"], decimals: 1
}

decimal_unit! {
    /// Decimal gigabytes: allocated disk, or data moved.
    Gigabytes, what: "a number of GB", example: "250",
    prefixes: &[], suffixes: &["GB", "G"], decimals: 0
}

impl Hours {
    pub fn from_minutes(minutes: Decimal) -> Self {
        Self::new(minutes / dec!(60))
    }

    pub fn minutes(self) -> Decimal {
        self.amount().saturating_mul(dec!(60))
    }

    /// From a stretch of time; one that runs backwards (a clock that jumped) counts as none.
    pub fn from_time_delta(time: TimeDelta) -> Self {
        Self::new(Decimal::from(time.num_milliseconds().max(0)) / dec!(3_600_000))
    }

    /// To the next full second, so that what is scheduled never comes early; capped at 100 years.
    pub fn to_time_delta(self) -> TimeDelta {
        let longest = TimeDelta::days(36_500);
        let seconds = self.amount().saturating_mul(dec!(3600)).ceil();
        i64::try_from(seconds)
            .ok()
            .and_then(TimeDelta::try_seconds)
            .map_or(longest, |time| time.min(longest))
    }
}

impl fmt::Display for Hours {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.amount() < Decimal::ONE && !self.is_zero() {
            return formatter.pad(&format!("{} min", plain(self.minutes(), 0)));
        }
        formatter.pad(&format!("{} h", plain(self.amount(), 1)))
    }
}

impl fmt::Display for Gigabytes {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(&format!("{} GB", plain(self.amount(), 2)))
    }
}

/// Rounded to at most `decimals` digits, without trailing zeros: `10`, `14.6`.
fn plain(value: Decimal, decimals: u32) -> String {
    value
        .round_dp_with_strategy(decimals, RoundingStrategy::MidpointAwayFromZero)
        .normalize()
        .to_string()
}

/// How many hours a provider divides its monthly prices by: 730 (a twelfth of a year) or 720 (30 days).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HoursPerMonth(Decimal);

impl HoursPerMonth {
    /// A twelfth of a year, the usual constant.
    pub const TWELFTH_OF_A_YEAR: Self = Self(dec!(730));
    /// 30 days, as the measured box was billed.
    pub const THIRTY_DAYS: Self = Self(dec!(720));
    const WHAT: &'static str = "the hours of a billed month";

    /// # Errors
    /// Outside 1 to 10,000: zero can't divide, and no month is longer.
    pub fn new(hours: Decimal) -> Result<Self, QuantityError> {
        if hours < Decimal::ONE || hours > dec!(10_000) {
            let range = "between 1 and 10,000 (usual are 730 and 720)";
            return Err(QuantityError::OutOfRange {
                input: hours.to_string(),
                what: Self::WHAT,
                range,
            });
        }
        Ok(Self(hours))
    }

    pub const fn amount(self) -> Decimal {
        self.0
    }
}

impl fmt::Display for HoursPerMonth {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(&format!("{} h", self.0.normalize()))
    }
}

/// Between 0 (never) and 1 (certain).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Probability(Decimal);

impl Probability {
    pub const NEVER: Self = Self(Decimal::ZERO);
    pub const CERTAIN: Self = Self(Decimal::ONE);
    const WHAT: &'static str = "a probability";

    /// # Errors
    /// Outside 0 to 1.
    pub fn new(value: Decimal) -> Result<Self, QuantityError> {
        if value < Decimal::ZERO || value > Decimal::ONE {
            let range = "between 0 (never) and 1 (certain)";
            return Err(QuantityError::OutOfRange {
                input: value.to_string(),
                what: Self::WHAT,
                range,
            });
        }
        Ok(Self(value))
    }

    pub const fn amount(self) -> Decimal {
        self.0
    }

    /// The chance that it does not happen.
    pub fn complement(self) -> Self {
        Self(Decimal::ONE - self.0)
    }
}

impl fmt::Display for Probability {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(&plain(self.0, 4))
    }
}

/// Parsing and serde for the two that have bounds of their own.
macro_rules! bounded {
    ($name:ident, $example:literal, $suffixes:expr) => {
        impl std::str::FromStr for $name {
            type Err = QuantityError;
            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Self::new(parse(text, &[], $suffixes, Self::WHAT, $example)?)
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(&self.0.normalize())
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_any(QuantityVisitor(std::marker::PhantomData, Self::WHAT))
            }
        }
    };
}

bounded!(HoursPerMonth, "730", &["h"]);
bounded!(Probability, "0.7", &[]);

impl Hours {
    /// One decimal always, for columns: `14.6`, `10.0`.
    pub fn in_column(self) -> String {
        rounded(self.amount(), 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hours_read_as_people_say_them() {
        assert_eq!(Hours::new(dec!(14.4055)).to_string(), "14.4 h");
        assert_eq!(Hours::new(dec!(10)).to_string(), "10 h");
        assert_eq!(Hours::from_minutes(dec!(15)).to_string(), "15 min");
        assert_eq!(Hours::ZERO.to_string(), "0 h");
        assert_eq!("10h".parse::<Hours>(), Ok(Hours::new(dec!(10))));
        assert_eq!("43GB".parse::<Gigabytes>(), Ok(Gigabytes::new(dec!(43))));
        assert_eq!(Gigabytes::new(dec!(250)).to_string(), "250 GB");
    }

    #[test]
    fn a_schedule_made_from_hours_never_comes_early() {
        assert_eq!(
            Hours::new(dec!(0.0001)).to_time_delta(),
            TimeDelta::seconds(1)
        );
        assert_eq!(
            Hours::new(Decimal::MAX).to_time_delta(),
            TimeDelta::days(36_500)
        );
        assert_eq!(Hours::from_time_delta(TimeDelta::minutes(-5)), Hours::ZERO);
    }

    #[test]
    fn a_month_without_hours_and_a_chance_above_one_are_refused() {
        assert!(
            "0".parse::<HoursPerMonth>()
                .is_err_and(|error| error.to_string().contains("between 1 and 10,000"))
        );
        assert!(
            "1.2"
                .parse::<Probability>()
                .is_err_and(|error| error.to_string().contains("between 0 (never)"))
        );
        assert!(
            "-0.2"
                .parse::<Probability>()
                .is_err_and(|error| error.to_string().contains("negative"))
        );
        assert_eq!("1".parse(), Ok(Probability::CERTAIN));
    }
}
