//! The tables, and how older ones become today's.

use rusqlite::{Connection, Transaction, TransactionBehavior};

/// In the file's header: tells a ledger from any other SQLite file. "gprn" in ASCII.
const APPLICATION_ID: i64 = 0x6770_726e;

/// What turns version N into version N + 1; an empty file has version 0. Once released, an entry never changes.
const MIGRATIONS: &[&str] = &[VERSION_1, VERSION_2];

/// The version this program writes.
#[expect(clippy::cast_possible_wrap, reason = "a handful of entries")]
pub(super) const VERSION: i64 = MIGRATIONS.len() as i64;

const VERSION_1: &str = "
    CREATE TABLE runs (
        seq    INTEGER PRIMARY KEY,
        record TEXT NOT NULL CHECK (json_valid(record)),
        id     TEXT NOT NULL UNIQUE GENERATED ALWAYS AS (json_extract(record, '$.id')) STORED,
        name   TEXT NOT NULL GENERATED ALWAYS AS (json_extract(record, '$.name')) STORED,
        label  TEXT NOT NULL UNIQUE GENERATED ALWAYS AS (json_extract(record, '$.label')) STORED,
        open   INTEGER NOT NULL GENERATED ALWAYS AS (json_extract(record, '$.phase') <> 'ended') STORED
    ) STRICT;
    CREATE UNIQUE INDEX open_names ON runs (name) WHERE open = 1;
    CREATE INDEX runs_by_open ON runs (open);
    CREATE INDEX names ON runs (name);

    CREATE TABLE events (
        seq    INTEGER PRIMARY KEY,
        run    TEXT NOT NULL REFERENCES runs (id),
        at     TEXT NOT NULL,
        kind   TEXT NOT NULL,
        detail TEXT NOT NULL
    ) STRICT;
    CREATE INDEX events_of_run ON events (run, seq);

    CREATE TABLE decisions (
        seq         INTEGER PRIMARY KEY,
        run         TEXT NOT NULL REFERENCES runs (id),
        first_at    TEXT NOT NULL,
        last_at     TEXT NOT NULL,
        times       INTEGER NOT NULL DEFAULT 1,
        sameness    TEXT NOT NULL,
        plan        TEXT NOT NULL CHECK (json_valid(plan)),
        observation TEXT NOT NULL CHECK (json_valid(observation))
    ) STRICT;
    CREATE INDEX decisions_of_run ON decisions (run, seq);

    CREATE TABLE actions (
        seq         INTEGER PRIMARY KEY,
        run         TEXT NOT NULL REFERENCES runs (id),
        action      TEXT NOT NULL CHECK (json_valid(action)),
        begun_at    TEXT NOT NULL,
        result      TEXT CHECK (json_valid(result)),
        finished_at TEXT
    ) STRICT;
    CREATE INDEX actions_of_run ON actions (run, seq);

    CREATE TABLE gaps (
        seq      INTEGER PRIMARY KEY,
        run      TEXT NOT NULL REFERENCES runs (id),
        from_at  TEXT NOT NULL,
        to_at    TEXT,
        returned INTEGER
    ) STRICT;
    CREATE UNIQUE INDEX open_gaps ON gaps (run) WHERE to_at IS NULL;
";

const VERSION_2: &str = "
    CREATE TABLE bad_hosts (
        provider TEXT NOT NULL,
        host     TEXT NOT NULL,
        at       TEXT NOT NULL,
        why      TEXT NOT NULL,
        PRIMARY KEY (provider, host)
    ) STRICT;
";

/// What an opened file turned out to be.
#[derive(Debug)]
pub(super) enum Verdict {
    Ready,
    /// Some other program's SQLite file.
    Foreign,
    Newer(i64),
}

/// Brings the file to [`VERSION`], unless it is not ours or from the future.
pub(super) fn migrate(connection: &mut Connection) -> rusqlite::Result<Verdict> {
    // Mostly it is up to date, and looking costs no lock.
    if (
        number(connection, "application_id")?,
        number(connection, "user_version")?,
    ) == (APPLICATION_ID, VERSION)
    {
        return Ok(Verdict::Ready);
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let version = number(&transaction, "user_version")?;
    let owner = number(&transaction, "application_id")?;
    let empty = version == 0 && owner == 0 && has_no_tables(&transaction)?;
    if owner != APPLICATION_ID && !empty {
        return Ok(Verdict::Foreign);
    }
    if version > VERSION {
        return Ok(Verdict::Newer(version));
    }
    for migration in MIGRATIONS
        .iter()
        .skip(usize::try_from(version).unwrap_or_default())
    {
        transaction.execute_batch(migration)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.pragma_update(None, "user_version", VERSION)?;
    transaction.commit()?;
    Ok(Verdict::Ready)
}

fn number(connection: &Connection, pragma: &str) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, pragma, |row| row.get(0))
}

fn has_no_tables(transaction: &Transaction<'_>) -> rusqlite::Result<bool> {
    transaction.query_row("SELECT count(*) = 0 FROM sqlite_schema", [], |row| {
        row.get(0)
    })
}
