//! Machines that were of no use, to stay away from for a while.

use chrono::{DateTime, Utc};
use gpurun_lifecycle::RunRecord;
use rusqlite::{Transaction, named_params};

use super::connection::{Ledger, Problem};
use super::error::StoreError;
use super::time::{time, time_text};

/// A machine on which a box was had in vain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BadHost {
    pub(crate) provider: String,
    /// As the provider's offers name it.
    pub(crate) host: String,
    /// When it was so last.
    pub(crate) at: DateTime<Utc>,
    pub(crate) why: String,
}

impl Ledger {
    /// Every machine that was bad since then, by name.
    ///
    /// # Errors
    /// When the ledger can't be read.
    pub(crate) fn bad_hosts(&self, since: DateTime<Utc>) -> Result<Vec<BadHost>, StoreError> {
        self.query(|connection| {
            let sql = "SELECT provider, host, at, why FROM bad_hosts WHERE at >= :since ORDER BY provider, host";
            let mut statement = connection.prepare_cached(sql)?;
            let hosts = statement.query_map(named_params! { ":since": time_text(since) }, |row| {
                Ok(BadHost {
                    provider: row.get(0)?,
                    host: row.get(1)?,
                    at: time(row, 2)?,
                    why: row.get(3)?,
                })
            })?;
            Ok(hosts.collect::<rusqlite::Result<_>>()?)
        })
    }
}

/// Remembers the machines that a change of a run's record newly blames: the record forgets them at the next `start`.
pub(super) fn remember(
    transaction: &Transaction<'_>,
    before: &RunRecord,
    after: &RunRecord,
) -> Result<(), Problem> {
    let new = after
        .tried
        .iter()
        .filter(|tried| !before.tried.contains(tried));
    for tried in new {
        let Some(host) = &tried.host else { continue };
        let sql =
            "INSERT INTO bad_hosts (provider, host, at, why) VALUES (:provider, :host, :at, :why)
                   ON CONFLICT (provider, host) DO UPDATE SET at = excluded.at, why = excluded.why";
        transaction.prepare_cached(sql)?.execute(named_params! {
            ":provider": after.spec.provider, ":host": host, ":at": time_text(tried.at), ":why": tried.why,
        })?;
    }
    Ok(())
}
