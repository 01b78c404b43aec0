//! Times in the ledger: text that sorts as time does.

use chrono::{DateTime, SecondsFormat, Utc};
use rusqlite::Row;
use rusqlite::types::Type;

/// `2026-12-01T03:04:05.678Z`.
pub(super) fn time_text(at: DateTime<Utc>) -> String {
    at.to_rfc3339_opts(SecondsFormat::Millis, true)
}

pub(super) fn time(row: &Row<'_>, column: usize) -> rusqlite::Result<DateTime<Utc>> {
    let text = row.get_ref(column)?.as_str()?;
    let parsed = DateTime::parse_from_rfc3339(text).map(|at| at.with_timezone(&Utc));
    parsed.map_err(|error| {
        rusqlite::Error::FromSqlConversionFailure(column, Type::Text, Box::new(error))
    })
}

pub(super) fn optional_time(
    row: &Row<'_>,
    column: usize,
) -> rusqlite::Result<Option<DateTime<Utc>>> {
    match row.get_ref(column)? {
        rusqlite::types::ValueRef::Null => Ok(None),
        _ => time(row, column).map(Some),
    }
}
