//! Actions: each is written down before it is tried, and what came of it after.

use chrono::{DateTime, Utc};
use gpurun_lifecycle::{Action, ActionResult, RunRecord, begin, finish};
use rusqlite::named_params;

use super::connection::{Ledger, Problem};
use super::error::StoreError;
use super::runs::change_record;
use super::time::{optional_time, time, time_text};

/// An action that was begun.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ActionId {
    seq: i64,
    run: String,
}

/// An action as the ledger remembers it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RecordedAction {
    pub(crate) action: Action,
    pub(crate) begun_at: DateTime<Utc>,
    /// `None`: it was interrupted, and what came of it is only to be seen at the provider.
    pub(crate) result: Option<ActionResult>,
    pub(crate) finished_at: Option<DateTime<Utc>>,
}

impl Ledger {
    /// Writes down that `action` is about to be tried. Nothing may be tried before this returns.
    ///
    /// # Errors
    /// When it can't be written; then it must not be tried.
    pub(crate) fn begin(
        &self,
        run: &str,
        action: &Action,
        now: DateTime<Utc>,
    ) -> Result<(ActionId, RunRecord), StoreError> {
        self.transaction(|transaction| {
            let record = change_record(transaction, run, |record| begin(record, action, now))?;
            let sql = "INSERT INTO actions (run, action, begun_at) VALUES (:run, :action, :at)";
            let parameters =
                named_params! { ":run": run, ":action": json(run, action)?, ":at": time_text(now) };
            transaction.prepare_cached(sql)?.execute(parameters)?;
            Ok((
                ActionId {
                    seq: transaction.last_insert_rowid(),
                    run: run.to_owned(),
                },
                record,
            ))
        })
    }

    /// Writes down what came of it.
    ///
    /// # Errors
    /// When it can't be written. The next look at the provider tells the same.
    pub(crate) fn finish(
        &self,
        id: &ActionId,
        result: &ActionResult,
        now: DateTime<Utc>,
    ) -> Result<RunRecord, StoreError> {
        self.transaction(|transaction| {
            let sql = "SELECT action FROM actions WHERE seq = :seq";
            let begun = transaction.query_row(sql, named_params! { ":seq": id.seq }, |row| row.get::<_, String>(0));
            let action: Action = parse(&id.run, &begun?)?;
            let record = change_record(transaction, &id.run, |record| finish(record, &action, result, now))?;
            let sql = "UPDATE actions SET result = :result, finished_at = :at WHERE seq = :seq";
            let parameters = named_params! { ":result": json(&id.run, result)?, ":at": time_text(now), ":seq": id.seq };
            transaction.prepare_cached(sql)?.execute(parameters)?;
            Ok(record)
        })
    }

    /// The last actions of a run, newest first, at most `most`.
    ///
    /// # Errors
    /// When the ledger can't be read.
    pub(crate) fn actions(&self, run: &str, most: u32) -> Result<Vec<RecordedAction>, StoreError> {
        self.query(|connection| {
            let sql = "SELECT action, begun_at, result, finished_at FROM actions
                       WHERE run = :run ORDER BY seq DESC LIMIT :most";
            let mut statement = connection.prepare_cached(sql)?;
            let mut rows = statement.query(named_params! { ":run": run, ":most": most })?;
            let mut actions = Vec::new();
            while let Some(row) = rows.next()? {
                let result = row.get_ref(2)?.as_str_or_null()?;
                actions.push(RecordedAction {
                    action: parse(run, row.get_ref(0)?.as_str()?)?,
                    begun_at: time(row, 1)?,
                    result: result.map(|text| parse(run, text)).transpose()?,
                    finished_at: optional_time(row, 3)?,
                });
            }
            Ok(actions)
        })
    }
}

pub(super) fn json<T: serde::Serialize>(run: &str, value: &T) -> Result<String, Problem> {
    serde_json::to_string(value).map_err(|error| unreadable(run, &error))
}

pub(super) fn parse<T: serde::de::DeserializeOwned>(run: &str, text: &str) -> Result<T, Problem> {
    serde_json::from_str(text).map_err(|error| unreadable(run, &error))
}

fn unreadable(run: &str, error: &serde_json::Error) -> Problem {
    StoreError::UnreadableRun {
        id: run.to_owned(),
        why: error.to_string(),
    }
    .into()
}
