//! What prices are multiplied by: hours, gigabytes, the length of a billed month, a probability.

use std::fmt;

use chrono::TimeDelta;
use rust_decimal::{Decimal, RoundingStrategy};
use rust_decimal_macros::dec;

use crate::decimal_unit::{QuantityError, QuantityVisitor, Words, decimal_unit, parse, rounded};

decimal_unit! {
    /// A stretch of time in hours. People see one decimal, or minutes below one hour.
    Hours, what: "a number of hours", example: "10h, 90min or 1d12h",
    parse: hours, decimals: 1
}

decimal_unit! {
    /// Decimal gigabytes: allocated disk, or data moved.
    Gigabytes, what: "a number of GB", example: "250",
    parse: |text, words| parse(text, &["GB", "G"], words), decimals: 0
}

impl Gigabytes {
    pub fn from_bytes(bytes: u64) -> Self {
        Self::new(Decimal::from(bytes) / dec!(1_000_000_000))
    }

    /// Whole bytes, rounded down; the largest number where it doesn't fit.
    pub fn to_bytes(self) -> u64 {
        let bytes = self.amount().saturating_mul(dec!(1_000_000_000));
        u64::try_from(bytes.trunc()).unwrap_or(u64::MAX)
    }
}

impl Hours {
    pub fn from_minutes(minutes: Decimal) -> Self {
        Self::new(minutes / dec!(60))
    }

    pub fn minutes(self) -> Decimal {
        self.amount().saturating_mul(dec!(60))
    }

    /// One decimal always, for columns: `14.6`, `10.0`.
    pub fn in_column(self) -> String {
        rounded(self.amount(), 1)
    }

    /// As a factor of a sum that someone may want to check, so not rounded to one decimal: `15 min`, `13.75 h`.
    pub fn in_sum(self) -> String {
        let minutes = self.minutes().round_dp(6).normalize();
        if minutes.is_integer() && minutes < dec!(120) && !minutes.is_zero() {
            return format!("{minutes} min");
        }
        format!("{} h", plain(self.amount(), 4))
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

/// A number of hours, or numbers with units that add up: `10`, `10h`, `90min`, `1d12h`, `2 d`.
fn hours(text: &str, words: Words) -> Result<Decimal, QuantityError> {
    const MINUTES: &[(&str, Decimal)] = &[
        ("min", dec!(1)),
        ("m", dec!(1)),
        ("hours", dec!(60)),
        ("hour", dec!(60)),
        ("h", dec!(60)),
        ("days", dec!(1440)),
        ("day", dec!(1440)),
        ("d", dec!(1440)),
        ("w", dec!(10_080)),
    ];
    let lower = text.trim().to_lowercase();
    let unit_begins = |character: char| character.is_ascii_lowercase();
    if !lower.contains(unit_begins) {
        return parse(text, &[], words);
    }
    let not_hours = || QuantityError::NotANumber {
        input: text.to_owned(),
        what: words.what,
        example: words.example,
    };
    let mut minutes = Decimal::ZERO;
    let mut rest = lower.as_str();
    while !rest.is_empty() {
        let unit_at = rest.find(unit_begins).ok_or_else(not_hours)?;
        let (number, tail) = rest.split_at(unit_at);
        let unit_ends = tail
            .find(|character| !unit_begins(character))
            .unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(unit_ends);
        let (_, factor) = MINUTES
            .iter()
            .find(|(name, _)| *name == unit)
            .ok_or_else(not_hours)?;
        minutes = minutes.saturating_add(parse(number, &[], words)?.saturating_mul(*factor));
        rest = tail.trim_start();
    }
    Ok(minutes / dec!(60))
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
                let words = Words {
                    what: Self::WHAT,
                    example: $example,
                };
                Self::new(parse(text, $suffixes, words)?)
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
        assert_eq!(Gigabytes::from_bytes(1_500_000_000).amount(), dec!(1.5));
        assert_eq!(Gigabytes::new(dec!(1.5)).to_bytes(), 1_500_000_000);
        assert_eq!(Gigabytes::new(Decimal::MAX).to_bytes(), u64::MAX);
    }

    #[test]
    fn a_gap_may_be_said_in_any_unit() {
        let hours = |text: &str| text.parse::<Hours>().map(Hours::amount);
        let cases = [
            ("10", dec!(10)),
            ("10h", dec!(10)),
            ("90min", dec!(1.5)),
            ("1d12h", dec!(36)),
            ("1 d 12 h 30 min", dec!(36.5)),
            ("2 days", dec!(48)),
            ("1w", dec!(168)),
        ];
        for (text, expected) in cases {
            assert_eq!(hours(text), Ok(expected), "{text}");
        }
        for text in ["", "h", "10x", "ten hours", "10h5", "-1h", "1e3h"] {
            assert!(hours(text).is_err(), "{text}");
        }
        assert!(
            hours("tomorrow").is_err_and(|error| error.to_string().contains("10h, 90min or 1d12h"))
        );
    }

    #[test]
    fn factors_of_a_sum_are_not_rounded_away() {
        let in_sum = |hours| Hours::new(hours).in_sum();
        assert_eq!(in_sum(dec!(0.25)), "15 min");
        assert_eq!(in_sum(dec!(1.25)), "75 min");
        assert_eq!(in_sum(dec!(10)), "10 h");
        assert_eq!(in_sum(dec!(13.75)), "13.75 h");
        assert_eq!(in_sum(dec!(0)), "0 h");
        assert_eq!(
            Hours::from_minutes(dec!(7)).in_sum(),
            "7 min",
            "a third of an hour's digits are no matter"
        );
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
