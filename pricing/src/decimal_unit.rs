//! What every decimal quantity with a unit has in common: exact arithmetic that saturates instead of panicking,
//! parsing what a person types, and a lossless text form for JSON, TOML and SQL.

use rust_decimal::{Decimal, RoundingStrategy};
use thiserror::Error;

/// No quantity a person may enter is larger: it keeps every product of two well inside a decimal's 28 digits.
pub(crate) const LARGEST_INPUT: i64 = 1_000_000_000;

/// A quantity that can't be understood.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum QuantityError {
    /// Not a decimal number, with or without its unit.
    #[error("`{input}` is not {what}: write it like `{example}`")]
    NotANumber {
        input: String,
        what: &'static str,
        example: &'static str,
    },
    /// Below zero, where only what is spent, stored or waited can be meant.
    #[error("`{input}` is negative: {what} can't be less than zero")]
    Negative { input: String, what: &'static str },
    /// Beyond a thousand million, or beyond the quantity's own bounds.
    #[error("`{input}` is out of range: {what} lies {range}")]
    OutOfRange {
        input: String,
        what: &'static str,
        range: &'static str,
    },
}

/// Half away from zero, as bills round, with exactly `decimals` digits after the point.
pub(crate) fn rounded(value: Decimal, decimals: u32) -> String {
    let value = value.round_dp_with_strategy(decimals, RoundingStrategy::MidpointAwayFromZero);
    let digits = usize::try_from(decimals).unwrap_or_default();
    format!("{value:.digits$}")
}

/// How a quantity is called, and an example of it, for its errors.
#[derive(Clone, Copy)]
pub(crate) struct Words {
    pub(crate) what: &'static str,
    pub(crate) example: &'static str,
}

/// Reads `text` as a non-negative decimal after taking a leading `$` and one of `suffixes` off.
pub(crate) fn parse(text: &str, suffixes: &[&str], words: Words) -> Result<Decimal, QuantityError> {
    let Words { what, example } = words;
    let input = || text.to_owned();
    let mut number = text.trim();
    number = number.strip_prefix('$').unwrap_or(number);
    let suffix = suffixes
        .iter()
        .find_map(|suffix| strip_suffix_ignoring_case(number, suffix));
    number = suffix.unwrap_or(number).trim();
    let value = Decimal::from_str_exact(number).map_err(|_| QuantityError::NotANumber {
        input: input(),
        what,
        example,
    })?;
    if value.is_sign_negative() && !value.is_zero() {
        return Err(QuantityError::Negative {
            input: input(),
            what,
        });
    }
    if value > Decimal::from(LARGEST_INPUT) {
        return Err(QuantityError::OutOfRange {
            input: input(),
            what,
            range: "below 1,000,000,000",
        });
    }
    Ok(value)
}

fn strip_suffix_ignoring_case<'a>(text: &'a str, suffix: &str) -> Option<&'a str> {
    let at = text.len().checked_sub(suffix.len())?;
    let tail = text.get(at..)?;
    tail.eq_ignore_ascii_case(suffix).then(|| &text[..at])
}

/// Takes a quantity from JSON or TOML in whatever way it was written there: `"3.48"`, `"$3.48"`, `3.48` or `3`.
pub(crate) struct QuantityVisitor<T>(
    pub(crate) std::marker::PhantomData<T>,
    pub(crate) &'static str,
);

impl<T> serde::de::Visitor<'_> for QuantityVisitor<T>
where
    T: std::str::FromStr,
    T::Err: std::fmt::Display,
{
    type Value = T;

    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.1)
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<T, E> {
        text.parse().map_err(E::custom)
    }

    fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<T, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<T, E> {
        self.visit_str(&number.to_string())
    }

    // A float's shortest text is what was typed, so nothing is lost on the way to a decimal.
    fn visit_f64<E: serde::de::Error>(self, number: f64) -> Result<T, E> {
        self.visit_str(&number.to_string())
    }
}

/// Defines a decimal with a unit. `$what` and `$example` name it in errors, `$decimals` is for people.
macro_rules! decimal_unit {
    (
        $(#[$doc:meta])*
        $name:ident, what: $what:literal, example: $example:literal,
        parse: $parse:expr, decimals: $decimals:literal
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(rust_decimal::Decimal);

        impl $name {
            pub const ZERO: Self = Self(rust_decimal::Decimal::ZERO);

            /// Wraps an amount already known to be in this unit.
            pub const fn new(amount: rust_decimal::Decimal) -> Self {
                Self(amount)
            }

            /// The bare number, exact.
            pub const fn amount(self) -> rust_decimal::Decimal {
                self.0
            }

            /// The number as people read it: rounded half away from zero, without the unit.
            pub fn figure(self) -> String {
                $crate::decimal_unit::rounded(self.0, $decimals)
            }

            pub fn is_zero(self) -> bool {
                self.0.is_zero()
            }
        }

        impl std::ops::Add for $name {
            type Output = Self;
            fn add(self, other: Self) -> Self {
                Self(self.0.saturating_add(other.0))
            }
        }

        impl std::ops::AddAssign for $name {
            fn add_assign(&mut self, other: Self) {
                *self = *self + other;
            }
        }

        impl std::ops::Sub for $name {
            type Output = Self;
            fn sub(self, other: Self) -> Self {
                Self(self.0.saturating_sub(other.0))
            }
        }

        impl std::iter::Sum for $name {
            fn sum<I: Iterator<Item = Self>>(items: I) -> Self {
                items.fold(Self::ZERO, std::ops::Add::add)
            }
        }

        /// Scales by a bare number: a count, a share, a probability.
        impl std::ops::Mul<rust_decimal::Decimal> for $name {
            type Output = Self;
            fn mul(self, factor: rust_decimal::Decimal) -> Self {
                Self(self.0.saturating_mul(factor))
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::decimal_unit::QuantityError;
            fn from_str(text: &str) -> Result<Self, Self::Err> {
                let parse: fn(&str, $crate::decimal_unit::Words) -> Result<_, _> = $parse;
                let words = $crate::decimal_unit::Words { what: $what, example: $example };
                parse(text, words).map(Self)
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(&self.0.normalize())
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let visitor = $crate::decimal_unit::QuantityVisitor(std::marker::PhantomData, $what);
                deserializer.deserialize_any(visitor)
            }
        }
    };
}

pub(crate) use decimal_unit;
