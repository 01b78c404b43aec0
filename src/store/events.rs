//! What happened to a run and who wanted it, in words; only ever appended.

use chrono::{DateTime, Utc};
use rusqlite::{Transaction, named_params};

use super::connection::{Ledger, Problem};
use super::error::StoreError;
use super::time::{time, time_text};

/// One line of a run's history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) at: DateTime<Utc>,
    pub(crate) kind: EventKind,
    pub(crate) detail: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EventKind {
    /// The run was wished for.
    Created,
    /// The person wants something else now.
    Intent,
    /// A person should look at it.
    Alarm,
}

impl Ledger {
    /// Adds a line to a run's history.
    ///
    /// # Errors
    /// When the ledger can't be written.
    pub(crate) fn note(&self, run: &str, event: &Event) -> Result<(), StoreError> {
        self.transaction(|transaction| append(transaction, run, event))
    }

    /// A run's history, oldest first.
    ///
    /// # Errors
    /// When the ledger can't be read.
    pub(crate) fn events(&self, run: &str) -> Result<Vec<Event>, StoreError> {
        self.query(|connection| {
            let sql = "SELECT at, kind, detail FROM events WHERE run = :run ORDER BY seq";
            let mut statement = connection.prepare_cached(sql)?;
            let events = statement.query_map(named_params! { ":run": run }, |row| {
                let kind = EventKind::from_name(row.get_ref(1)?.as_str()?);
                Ok(Event {
                    at: time(row, 0)?,
                    kind,
                    detail: row.get(2)?,
                })
            })?;
            Ok(events.collect::<rusqlite::Result<_>>()?)
        })
    }
}

pub(super) fn append(
    transaction: &Transaction<'_>,
    run: &str,
    event: &Event,
) -> Result<(), Problem> {
    let sql = "INSERT INTO events (run, at, kind, detail) VALUES (:run, :at, :kind, :detail)";
    let kind = event.kind.name();
    let parameters = named_params! { ":run": run, ":at": time_text(event.at), ":kind": kind, ":detail": event.detail };
    transaction.prepare_cached(sql)?.execute(parameters)?;
    Ok(())
}

impl EventKind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Intent => "intent",
            Self::Alarm => "alarm",
        }
    }

    fn from_name(name: &str) -> Self {
        let kinds = [Self::Created, Self::Intent, Self::Alarm];
        kinds
            .into_iter()
            .find(|kind| kind.name() == name)
            .unwrap_or(Self::Alarm)
    }
}
