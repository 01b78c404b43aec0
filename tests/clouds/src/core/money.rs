use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive;
use serde_json::Value;

/// A decimal as the JSON number that the vendors send.
#[must_use]
pub fn number(amount: Decimal) -> Value {
    // Never NaN: a Decimal is finite.
    amount.to_f64().map_or(Value::Null, Value::from)
}

/// Dollars an hour of something priced by the month, for a vendor whose month has so many hours.
#[must_use]
pub fn per_hour_of_month(monthly: Decimal, hours: u32) -> Decimal {
    monthly / Decimal::from(hours)
}

/// What a client sent as a number or, as some do, as a string.
#[must_use]
pub fn decimal(value: &Value) -> Option<Decimal> {
    match value {
        Value::Number(number) => {
            let text = number.to_string();
            text.parse()
                .ok()
                .or_else(|| Decimal::from_scientific(&text).ok())
        }
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    }
}
