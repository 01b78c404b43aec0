//! Numbers as vendors write them: JSON numbers, or the same in quotes. Money never goes through a float's arithmetic.

use chrono::{DateTime, Utc};
use rust_decimal::Decimal;
use secrecy::SecretString;
use serde::{Deserialize, Deserializer, de};
use serde_json::Value;

/// A decimal, from a number or from text that is one.
pub(crate) fn to_decimal(value: &Value) -> Option<Decimal> {
    let text = match value {
        Value::Number(number) => number.to_string(),
        Value::String(text) => text.trim().to_owned(),
        _ => return None,
    };
    text.parse()
        .or_else(|_| Decimal::from_scientific(&text))
        .ok()
}

/// `#[serde(deserialize_with = "wire::decimal")]`
pub(crate) fn decimal<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Decimal, D::Error> {
    let value = Value::deserialize(deserializer)?;
    to_decimal(&value).ok_or_else(|| de::Error::custom(format!("{value} is no number")))
}

/// The same, `None` where there is none. With `#[serde(default)]`.
pub(crate) fn optional_decimal<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Decimal>, D::Error> {
    let value = Value::deserialize(deserializer)?;
    Ok(to_decimal(&value))
}

/// An id that is a number or text.
pub(crate) fn id<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    match Value::deserialize(deserializer)? {
        Value::Number(number) => Ok(number.to_string()),
        Value::String(text) => Ok(text),
        other => Err(de::Error::custom(format!("{other} is no id"))),
    }
}

/// The same, `None` where there is none. With `#[serde(default)]`.
pub(crate) fn optional_id<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<String>, D::Error> {
    Ok(match Value::deserialize(deserializer)? {
        Value::Number(number) => Some(number.to_string()),
        Value::String(text) => Some(text),
        _ => None,
    })
}

/// What nothing may show.
pub(crate) fn secret<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SecretString, D::Error> {
    String::deserialize(deserializer).map(SecretString::from)
}

/// Seconds since 1970, with a fraction.
pub(crate) fn from_epoch(seconds: Decimal) -> Option<DateTime<Utc>> {
    let milliseconds = (seconds * Decimal::ONE_THOUSAND).round();
    DateTime::from_timestamp_millis(i64::try_from(milliseconds).ok()?)
}

#[cfg(test)]
mod tests {
    use rust_decimal_macros::dec;
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_keep_the_digits_they_were_sent_with() {
        assert_eq!(to_decimal(&json!(2.7691667)), Some(dec!(2.7691667)));
        assert_eq!(to_decimal(&json!("0.98")), Some(dec!(0.98)));
        assert_eq!(to_decimal(&json!(1e-7)), Some(dec!(0.0000001)));
        assert_eq!(to_decimal(&json!(null)), None);
        assert_eq!(to_decimal(&json!("")), None);
        let moment = from_epoch(dec!(1796087000.1)).map(|at| at.timestamp_millis());
        assert_eq!(moment, Some(1_796_087_000_100));
    }
}
