//! The pauses after trainings, for those who let their own past decide how long a stopped disk is kept.

use chrono::{DateTime, Utc};
use gpurun_pricing::Hours;
use gpurun_pricing::break_even::PastGap;
use rusqlite::named_params;

use super::connection::Ledger;
use super::error::StoreError;
use super::time::{optional_time, time, time_text};

/// How a pause ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GapEnd {
    /// The person went on.
    Returned,
    /// The box was given up.
    Never,
}

impl Ledger {
    /// A pause of `run` began. One that is under way goes on.
    ///
    /// # Errors
    /// When the ledger can't be written.
    pub(crate) fn open_gap(&self, run: &str, from: DateTime<Utc>) -> Result<(), StoreError> {
        self.transaction(|transaction| {
            let sql = "INSERT INTO gaps (run, from_at) SELECT :run, :from
                       WHERE NOT EXISTS (SELECT 1 FROM gaps WHERE run = :run AND to_at IS NULL)";
            transaction.execute(sql, named_params! { ":run": run, ":from": time_text(from) })?;
            Ok(())
        })
    }

    /// The pause of `run` that is under way, if any, ended.
    ///
    /// # Errors
    /// When the ledger can't be written.
    pub(crate) fn close_gap(
        &self,
        run: &str,
        to: DateTime<Utc>,
        end: GapEnd,
    ) -> Result<(), StoreError> {
        self.transaction(|transaction| {
            let sql = "UPDATE gaps SET to_at = :to, returned = :returned WHERE run = :run AND to_at IS NULL";
            let parameters = named_params! { ":run": run, ":to": time_text(to), ":returned": end == GapEnd::Returned };
            transaction.execute(sql, parameters)?;
            Ok(())
        })
    }

    /// All pauses that are over, of all runs, oldest first.
    ///
    /// # Errors
    /// When the ledger can't be read.
    pub(crate) fn past_gaps(&self) -> Result<Vec<PastGap>, StoreError> {
        self.query(|connection| {
            let sql =
                "SELECT from_at, to_at, returned FROM gaps WHERE to_at IS NOT NULL ORDER BY seq";
            let mut statement = connection.prepare_cached(sql)?;
            let gaps = statement.query_map([], |row| {
                let (from, returned) = (time(row, 0)?, row.get::<_, bool>(2)?);
                let length = optional_time(row, 1)?
                    .map_or(Hours::ZERO, |to| Hours::from_time_delta(to - from));
                Ok(if returned {
                    PastGap::Returned(length)
                } else {
                    PastGap::Never
                })
            })?;
            Ok(gaps.collect::<rusqlite::Result<_>>()?)
        })
    }
}
