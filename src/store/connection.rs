//! Opening the ledger.

use std::fs::{DirBuilder, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior};

use super::error::StoreError;
use super::schema::{self, VERSION, Verdict};

/// How long one process waits for another's transaction, which takes milliseconds.
pub(super) const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

const FILE: &str = "ledger.db";

/// An open ledger.
pub(crate) struct Ledger {
    connection: Connection,
    state: PathBuf,
    path: PathBuf,
}

impl Ledger {
    /// Opens the ledger of the state directory `state`, and makes both where there is none.
    ///
    /// # Errors
    /// When it is damaged, newer than this program, or can't be written. The file is then as it was.
    pub(crate) fn open(state: &Path) -> Result<Self, StoreError> {
        let path = state.join(FILE);
        let unusable = |error: std::io::Error| StoreError::Unusable {
            path: path.clone(),
            why: error.to_string(),
        };
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(state)
            .map_err(unusable)?;
        match OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)
        {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(unusable(error)),
            _ => {}
        }
        Self::connect(state, &path)
    }

    /// Opens the ledger if there is one. Asking makes no file and no folder.
    ///
    /// # Errors
    /// As [`Ledger::open`].
    pub(crate) fn open_existing(state: &Path) -> Result<Option<Self>, StoreError> {
        let path = state.join(FILE);
        match path.try_exists() {
            Ok(true) => Self::connect(state, &path).map(Some),
            Ok(false) => Ok(None),
            Err(error) => Err(StoreError::Unusable {
                path,
                why: error.to_string(),
            }),
        }
    }

    /// The folder everything of this user is in: the ledger, the locks, the local boxes.
    pub(super) fn state(&self) -> &Path {
        &self.state
    }

    fn connect(state: &Path, path: &Path) -> Result<Self, StoreError> {
        let sqlite = |error: rusqlite::Error| StoreError::from_sqlite(path, &error);
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut connection = Connection::open_with_flags(path, flags).map_err(sqlite)?;
        connection.busy_timeout(BUSY_TIMEOUT).map_err(sqlite)?;
        // A decision to spend must not be forgotten by a power cut.
        connection
            .pragma_update(None, "synchronous", "FULL")
            .map_err(sqlite)?;
        connection
            .pragma_update(None, "foreign_keys", "ON")
            .map_err(sqlite)?;
        match schema::migrate(&mut connection).map_err(sqlite)? {
            Verdict::Ready => {}
            Verdict::Foreign => {
                let why = "it is another program's SQLite file".to_owned();
                return Err(StoreError::Damaged {
                    path: path.to_owned(),
                    why,
                });
            }
            Verdict::Newer(found) => {
                return Err(StoreError::Newer {
                    path: path.to_owned(),
                    found,
                    known: VERSION,
                });
            }
        }
        write_ahead(&connection).map_err(sqlite)?;
        Ok(Self {
            connection,
            state: state.to_owned(),
            path: path.to_owned(),
        })
    }

    /// Runs `work` as one transaction that no other writer can come between: it begins with the write lock, because
    /// a reader that becomes a writer fails at once where another one wrote meanwhile.
    pub(super) fn transaction<T>(
        &self,
        work: impl FnOnce(&Transaction<'_>) -> Result<T, Problem>,
    ) -> Result<T, StoreError> {
        let run = || {
            // Unchecked: `work` gets no ledger to begin a second one with.
            let transaction =
                Transaction::new_unchecked(&self.connection, TransactionBehavior::Immediate)?;
            let result = work(&transaction)?;
            transaction.commit()?;
            Ok(result)
        };
        run().map_err(|problem: Problem| problem.at(&self.path))
    }

    /// Runs `query`, whose statements see one state of the ledger if they are one statement.
    pub(super) fn query<T>(
        &self,
        query: impl FnOnce(&Connection) -> Result<T, Problem>,
    ) -> Result<T, StoreError> {
        query(&self.connection).map_err(|problem| problem.at(&self.path))
    }
}

/// What interrupts a transaction: SQLite, or an answer in our own words.
#[derive(Debug)]
pub(super) enum Problem {
    Sqlite(rusqlite::Error),
    Store(StoreError),
}

impl Problem {
    fn at(self, path: &Path) -> StoreError {
        match self {
            Self::Sqlite(error) => StoreError::from_sqlite(path, &error),
            Self::Store(error) => error,
        }
    }
}

impl From<rusqlite::Error> for Problem {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl From<rusqlite::types::FromSqlError> for Problem {
    fn from(error: rusqlite::types::FromSqlError) -> Self {
        Self::Sqlite(error.into())
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// Lets readers go on while somebody writes. Turning it on needs the file alone for a moment, which SQLite does not
/// wait for, and is needed once in a ledger's life.
fn write_ahead(connection: &Connection) -> rusqlite::Result<()> {
    let deadline = Instant::now() + BUSY_TIMEOUT;
    loop {
        let mode =
            connection.pragma_query_value(None, "journal_mode", |row| row.get::<_, String>(0))?;
        if mode.eq_ignore_ascii_case("wal") {
            return Ok(());
        }
        match connection
            .pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get::<_, String>(0))
        {
            Err(error) if is_busy(&error) && Instant::now() < deadline => {
                std::thread::sleep(Duration::from_millis(5))
            }
            Err(error) => return Err(error),
            // A file system that can't (a network drive) stays as it is: slower, and as safe.
            Ok(_mode) => return Ok(()),
        }
    }
}

fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(rusqlite::ErrorCode::DatabaseBusy | rusqlite::ErrorCode::DatabaseLocked)
    )
}
