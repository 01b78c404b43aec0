use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive;
use rust_decimal_macros::dec;
use serde_json::Value;

/// A decimal as the JSON number that the vendors send.
#[must_use]
pub fn number(amount: Decimal) -> Value {
    // Never NaN: a Decimal is finite.
    amount.to_f64().map_or(Value::Null, Value::from)
}

/// Dollars an hour of something priced by the month: the marketplaces bill 730 hours a month.
#[must_use]
pub fn per_hour_of_month(monthly: Decimal) -> Decimal {
    monthly / dec!(730)
}
