//! Runs: one document each.

use gpurun_lifecycle::RunRecord;
use rusqlite::{OptionalExtension, Row, Transaction, named_params};

use super::connection::{Ledger, Problem};
use super::error::StoreError;
use super::events::{self, Event};
use super::hosts;

/// Which runs to list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Which {
    /// Those that may still cost money.
    Open,
    /// Open ones, and the newest closed ones up to this many.
    Recent(u32),
    All,
}

/// Runs, newest first.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    pub(crate) runs: Vec<RunRecord>,
    /// One that can't be read hides none of the others.
    pub(crate) unreadable: Vec<Unreadable>,
}

/// A run whose document this program doesn't understand.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub(crate) struct Unreadable {
    pub(crate) id: String,
    pub(crate) label: String,
    pub(crate) why: String,
}

impl Ledger {
    /// Writes a new run down.
    ///
    /// # Errors
    /// [`StoreError::NameInUse`] when a run that is not over has its name.
    pub(crate) fn insert(&self, record: &RunRecord, event: &Event) -> Result<(), StoreError> {
        self.transaction(|transaction| {
            refuse_taken_name(transaction, record)?;
            let record_json = encode(record)?;
            transaction.execute(
                "INSERT INTO runs (record) VALUES (:record)",
                named_params! { ":record": record_json },
            )?;
            events::append(transaction, &record.id, event)
        })
    }

    /// Changes a run: reads it, applies `change`, writes it, with nobody in between. Returns it as it is then.
    ///
    /// # Errors
    /// When the run is unknown or unreadable, or would take a name that is in use.
    pub(crate) fn update(
        &self,
        id: &str,
        event: Option<&Event>,
        change: impl FnOnce(&mut RunRecord),
    ) -> Result<RunRecord, StoreError> {
        self.transaction(|transaction| {
            let record = change_record(transaction, id, change)?;
            if let Some(event) = event {
                events::append(transaction, id, event)?;
            }
            Ok(record)
        })
    }

    /// The run with exactly this id.
    ///
    /// # Errors
    /// When it is unknown or unreadable.
    pub(crate) fn get(&self, id: &str) -> Result<RunRecord, StoreError> {
        self.query(|connection| read_record(connection, id))
    }

    /// Runs, newest first.
    ///
    /// # Errors
    /// When the ledger can't be read.
    pub(crate) fn list(&self, which: Which) -> Result<Listing, StoreError> {
        let sql = match which {
            Which::Open => "SELECT id, label, record FROM runs WHERE open = 1 ORDER BY seq DESC",
            Which::Recent(_) => {
                "SELECT id, label, record FROM runs
                 WHERE open = 1 OR seq IN (SELECT seq FROM runs WHERE open = 0 ORDER BY seq DESC LIMIT :most)
                 ORDER BY seq DESC"
            }
            Which::All => "SELECT id, label, record FROM runs ORDER BY seq DESC",
        };
        self.query(|connection| {
            let mut statement = connection.prepare_cached(sql)?;
            let mut rows = match which {
                Which::Recent(most) => statement.query(named_params! { ":most": most })?,
                Which::Open | Which::All => statement.query([])?,
            };
            let mut listing = Listing::default();
            while let Some(row) = rows.next()? {
                match decode(row)? {
                    Ok(record) => listing.runs.push(record),
                    Err(unreadable) => listing.unreadable.push(unreadable),
                }
            }
            drop(rows);
            // A damaged index can hide every run, and "no runs" would read as "nothing bills".
            if listing.runs.is_empty() && listing.unreadable.is_empty() {
                refuse_damaged(connection)?;
            }
            Ok(listing)
        })
    }

    /// The labels of all runs, also of those that are over: a box that carries none of them is not ours to end.
    ///
    /// # Errors
    /// When the ledger can't be read.
    pub(crate) fn labels(&self) -> Result<Vec<String>, StoreError> {
        self.query(|connection| {
            let mut statement = connection.prepare_cached("SELECT label FROM runs ORDER BY seq")?;
            let labels = statement.query_map([], |row| row.get(0))?;
            Ok(labels.collect::<rusqlite::Result<_>>()?)
        })
    }
}

/// SQLite's own look at the whole file; it only reads.
fn refuse_damaged(connection: &rusqlite::Connection) -> Result<(), Problem> {
    let found: String = connection.pragma_query_value(None, "integrity_check", |row| row.get(0))?;
    if found == "ok" {
        return Ok(());
    }
    let corrupt = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CORRUPT);
    Err(rusqlite::Error::SqliteFailure(corrupt, Some(found)).into())
}

pub(super) fn read_record(
    connection: &rusqlite::Connection,
    id: &str,
) -> Result<RunRecord, Problem> {
    let mut statement =
        connection.prepare_cached("SELECT id, label, record FROM runs WHERE id = :id")?;
    let found = statement
        .query_row(named_params! { ":id": id }, decode)
        .optional()?;
    let unknown = || StoreError::UnknownRun {
        asked: id.to_owned(),
        nearest: None,
    };
    let unreadable = |found: Unreadable| StoreError::UnreadableRun {
        id: found.id,
        why: found.why,
    };
    Ok(found.ok_or_else(unknown)?.map_err(unreadable)?)
}

/// The read, change and write of one run inside a transaction. What didn't change isn't written.
pub(super) fn change_record(
    transaction: &Transaction<'_>,
    id: &str,
    change: impl FnOnce(&mut RunRecord),
) -> Result<RunRecord, Problem> {
    let before = read_record(transaction, id)?;
    let mut record = before.clone();
    change(&mut record);
    if record != before {
        refuse_taken_name(transaction, &record)?;
        let sql = "UPDATE runs SET record = :record WHERE id = :id";
        transaction
            .prepare_cached(sql)?
            .execute(named_params! { ":record": encode(&record)?, ":id": id })?;
        hosts::remember(transaction, &before, &record)?;
    }
    Ok(record)
}

/// The index would refuse it as well, but couldn't say who has the name.
fn refuse_taken_name(transaction: &Transaction<'_>, record: &RunRecord) -> Result<(), Problem> {
    if record.phase == gpurun_lifecycle::Phase::Ended {
        return Ok(());
    }
    let sql = "SELECT id FROM runs WHERE open = 1 AND name = :name AND id <> :id";
    let mut statement = transaction.prepare_cached(sql)?;
    let parameters = named_params! { ":name": record.name, ":id": record.id };
    match statement
        .query_row(parameters, |row| row.get::<_, String>(0))
        .optional()?
    {
        None => Ok(()),
        Some(id) => Err(StoreError::NameInUse {
            name: record.name.clone(),
            id,
        }
        .into()),
    }
}

fn encode(record: &RunRecord) -> Result<String, Problem> {
    let unreadable = |error: serde_json::Error| StoreError::UnreadableRun {
        id: record.id.clone(),
        why: error.to_string(),
    };
    Ok(serde_json::to_string(record).map_err(unreadable)?)
}

fn decode(row: &Row<'_>) -> rusqlite::Result<Result<RunRecord, Unreadable>> {
    let document = row.get_ref(2)?.as_str()?;
    let (id, label) = (row.get(0)?, row.get(1)?);
    Ok(serde_json::from_str(document).map_err(|error| Unreadable {
        id,
        label,
        why: error.to_string(),
    }))
}
