//! Durations, sizes and money as people write them.

use rust_decimal::{Decimal, prelude::ToPrimitive};

/// Text that is not a quantity: what is wrong, and what it should look like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unreadable {
    pub(crate) message: String,
    pub(crate) expected: &'static str,
}

const DURATION: &str = "a duration with its units, such as 90m, 10h, 2h30m or 1d";
const SIZE: &str = "a size in whole GB, such as 250, 250GB or 1.5TB";
const MONEY: &str = "an amount in US dollars, such as 60, 0.35 or $60";

fn unreadable(text: &str, expected: &'static str) -> Unreadable {
    Unreadable {
        message: format!("'{text}' can't be read"),
        expected,
    }
}

/// Seconds of `10h`, `2h30m`, `90m`, `1d`, `1.5h`. A bare number counts `unit` seconds, and is
/// refused where there is no obvious unit. Zero is refused.
pub(crate) fn duration(text: &str, unit: Option<u32>) -> Result<u64, Unreadable> {
    let compact: String = text.split_whitespace().collect();
    let total = match (compact.parse::<Decimal>(), unit) {
        (Ok(number), Some(unit)) => number.checked_mul(unit.into()),
        (Ok(_), None) => None,
        (Err(_), _) => sum_of_parts(&compact),
    };
    match total.and_then(|seconds| seconds.round().to_u64()) {
        Some(0) => Err(Unreadable {
            message: format!("'{text}' is no time at all"),
            expected: DURATION,
        }),
        Some(seconds) => Ok(seconds),
        None => Err(unreadable(text, DURATION)),
    }
}

/// The parts of `2h30m`, each a number and its unit, units from large to small.
fn sum_of_parts(text: &str) -> Option<Decimal> {
    let mut rest = text;
    let mut total = Decimal::ZERO;
    let mut largest_allowed = u32::MAX;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, tail) = rest.split_at(digits);
        let letters = tail
            .find(|c: char| !c.is_ascii_alphabetic())
            .unwrap_or(tail.len());
        let (name, tail) = tail.split_at(letters);
        let unit = match name {
            "w" => 604_800,
            "d" | "day" | "days" => 86_400,
            "h" | "hour" | "hours" => 3_600,
            "m" | "min" => 60,
            "s" | "sec" => 1,
            _ => return None,
        };
        if unit >= largest_allowed {
            return None;
        }
        largest_allowed = unit;
        let part = number.parse::<Decimal>().ok()?.checked_mul(unit.into())?;
        total = total.checked_add(part)?;
        rest = tail;
    }
    (!text.is_empty()).then_some(total)
}

/// Whole decimal gigabytes of `250`, `250GB`, `1.5TB`, rounded up. Zero is refused.
pub(crate) fn gigabytes(text: &str) -> Result<u32, Unreadable> {
    let compact = text
        .split_whitespace()
        .collect::<String>()
        .to_ascii_uppercase();
    let end = compact
        .find(|c: char| c.is_ascii_alphabetic())
        .unwrap_or(compact.len());
    let (number, unit) = compact.split_at(end);
    let factor = match unit {
        "" | "G" | "GB" => Decimal::ONE,
        "T" | "TB" => Decimal::ONE_THOUSAND,
        _ => return Err(unreadable(text, SIZE)),
    };
    number
        .parse::<Decimal>()
        .ok()
        .and_then(|number| number.checked_mul(factor))
        .and_then(|size| size.ceil().to_u32())
        .filter(|size| *size > 0)
        .ok_or_else(|| unreadable(text, SIZE))
}

/// Dollars of `60`, `0.35`, `$60`, `60 USD`. Zero and less are refused.
pub(crate) fn money(text: &str) -> Result<Decimal, Unreadable> {
    let trimmed = text.trim();
    let trimmed = trimmed.strip_suffix("USD").unwrap_or(trimmed).trim_end();
    let trimmed = trimmed.strip_prefix('$').unwrap_or(trimmed).trim_start();
    trimmed
        .parse::<Decimal>()
        .ok()
        .filter(|amount| *amount > Decimal::ZERO)
        .ok_or_else(|| unreadable(text, MONEY))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rust_decimal_macros::dec;

    #[test]
    fn durations() {
        assert_eq!(duration("10h", None), Ok(36_000));
        assert_eq!(duration("90m", None), Ok(5_400));
        assert_eq!(duration("1d", None), Ok(86_400));
        assert_eq!(duration("2h30m", None), Ok(9_000));
        assert_eq!(duration("2h 30m", None), Ok(9_000));
        assert_eq!(duration("1.5h", None), Ok(5_400));
        assert_eq!(duration("45s", None), Ok(45));
        assert_eq!(duration("16", Some(3_600)), Ok(57_600));
        assert_eq!(duration("0.5", Some(3_600)), Ok(1_800));
        for wrong in [
            "", "10", "h", "10x", "30m2h", "1h1h", "-1h", "0h", "1..5h", "ten h",
        ] {
            assert!(duration(wrong, None).is_err(), "{wrong}");
        }
        assert!(duration("-1", Some(3_600)).is_err());
        assert!(duration("0", Some(3_600)).is_err());
        assert!(duration("99999999999999999999999999999", Some(3_600)).is_err());
        assert!(duration("9999999999999999999w", None).is_err());
    }

    #[test]
    fn sizes_are_decimal_and_round_up() {
        assert_eq!(gigabytes("250"), Ok(250));
        assert_eq!(gigabytes("250GB"), Ok(250));
        assert_eq!(gigabytes("250 gb"), Ok(250));
        assert_eq!(gigabytes("1.5TB"), Ok(1_500));
        assert_eq!(gigabytes("0.2"), Ok(1));
        for wrong in ["", "0", "-5", "250MB", "250GiB", "big", "99999999999"] {
            assert!(gigabytes(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn money_is_dollars_and_positive() {
        assert_eq!(money("$60"), Ok(dec!(60)));
        assert_eq!(money("60"), Ok(dec!(60)));
        assert_eq!(money("0.35"), Ok(dec!(0.35)));
        assert_eq!(money("60 USD"), Ok(dec!(60)));
        // As TOML writes a large float.
        assert_eq!(money("1e3"), Ok(dec!(1000)));
        for wrong in ["", "0", "-1", "60€", "$", "-1e3"] {
            assert!(money(wrong).is_err(), "{wrong}");
        }
    }
}
