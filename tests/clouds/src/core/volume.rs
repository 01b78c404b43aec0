use chrono::{DateTime, Utc};
use rust_decimal::Decimal;
use rust_decimal_macros::dec;
use serde::Serialize;

/// A disk that outlives boxes and is billed on its own.
#[derive(Debug, Clone, Serialize)]
pub struct SimVolume {
    /// The vendor's id.
    pub id: String,
    /// Its owner's name for it.
    pub name: String,
    /// Where it is; boxes elsewhere can't mount it.
    pub region: String,
    /// GB.
    pub size_gb: Decimal,
    /// Dollars an hour, all of it.
    pub hourly: Decimal,
    /// From when on it costs money.
    pub created_at: DateTime<Utc>,
    /// Until when.
    pub deleted_at: Option<DateTime<Utc>>,
}

impl SimVolume {
    /// What it cost until `now`, dollars.
    #[must_use]
    pub fn cost(&self, now: DateTime<Utc>) -> Decimal {
        let end = self.deleted_at.unwrap_or(now).min(now);
        let span = (end - self.created_at).num_milliseconds().max(0);
        self.hourly * Decimal::from(span) / dec!(3600000)
    }
}
