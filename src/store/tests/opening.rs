use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use rusqlite::Connection;

use super::Outcome;
use super::fixtures::insert;
use crate::store::{Ledger, StoreError, Which};

fn refusal(state: &Path) -> Result<StoreError, &'static str> {
    let refused = Ledger::open_existing(state).err();
    refused
        .or_else(|| Ledger::open(state).err())
        .ok_or("it was opened")
}

#[test]
fn asking_makes_no_file() -> Outcome {
    let folder = tempfile::tempdir()?;
    let state = folder.path().join("gpurun");
    assert!(Ledger::open_existing(&state)?.is_none());
    assert!(!state.exists());
    drop(Ledger::open(&state)?);
    assert!(Ledger::open_existing(&state)?.is_some());
    assert_eq!(
        fs::metadata(state.join("ledger.db"))?.permissions().mode() & 0o777,
        0o600
    );
    Ok(())
}

#[test]
fn a_ledger_that_is_opened_again_still_knows() -> Outcome {
    let folder = tempfile::tempdir()?;
    let record = insert(&Ledger::open(folder.path())?, "k3v9x2mq7d", "shapes")?;
    assert_eq!(Ledger::open(folder.path())?.get("k3v9x2mq7d")?, record);
    Ok(())
}

#[test]
fn a_newer_ledger_is_refused_and_left_alone() -> Outcome {
    let folder = tempfile::tempdir()?;
    insert(&Ledger::open(folder.path())?, "k3v9x2mq7d", "shapes")?;
    let raw = Connection::open(folder.path().join("ledger.db"))?;
    raw.pragma_update(None, "user_version", 99)?;
    let refused = refusal(folder.path())?;
    assert!(
        matches!(refused, StoreError::Newer { found: 99, .. }),
        "{refused}"
    );
    assert!(
        refused.to_string().contains("ledger.db") && refused.remedy().contains("update"),
        "{refused}"
    );
    let runs: u32 = raw.query_row("SELECT count(*) FROM runs", [], |row| row.get(0))?;
    assert_eq!(runs, 1);
    Ok(())
}

#[test]
fn what_is_no_ledger_is_named_and_never_overwritten() -> Outcome {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("ledger.db");
    let garbage = "not a database, but somebody's notes\n".repeat(100);
    fs::write(&path, &garbage)?;
    let refused = refusal(folder.path())?;
    assert!(matches!(refused, StoreError::Damaged { .. }), "{refused}");
    assert!(
        refused.to_string().contains(&path.display().to_string()),
        "{refused}"
    );
    assert_eq!(fs::read_to_string(&path)?, garbage);
    fs::remove_file(&path)?;

    Connection::open(&path)?.execute_batch("CREATE TABLE recipes (name TEXT)")?;
    let refused = refusal(folder.path())?;
    assert!(
        refused.to_string().contains("another program's"),
        "{refused}"
    );
    let tables: u32 =
        Connection::open(&path)?
            .query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    assert_eq!(tables, 1);
    Ok(())
}

#[test]
fn damage_inside_is_reported_with_the_path() -> Outcome {
    let folder = tempfile::tempdir()?;
    let ledger = Ledger::open(folder.path())?;
    for number in 0..200 {
        insert(&ledger, &format!("k{number}"), &format!("run-{number}"))?;
    }
    drop(ledger);
    let path = folder.path().join("ledger.db");
    let mut bytes = fs::read(&path)?;
    bytes
        .iter_mut()
        .skip(4096 * 8)
        .step_by(7)
        .for_each(|byte| *byte ^= 0x55);
    fs::write(&path, &bytes)?;
    let read = Ledger::open(folder.path()).and_then(|ledger| ledger.list(Which::All));
    let refused = read.err().ok_or("the damage was not noticed")?;
    assert!(matches!(refused, StoreError::Damaged { .. }), "{refused:?}");
    assert!(refused.to_string().contains("ledger.db"), "{refused}");
    Ok(())
}

#[test]
fn a_ledger_that_lost_its_runs_is_damaged_not_empty() -> Outcome {
    let folder = tempfile::tempdir()?;
    insert(&Ledger::open(folder.path())?, "k1", "cells")?;
    let path = folder.path().join("ledger.db");
    let database = rusqlite::Connection::open(&path)?;
    database.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
    let size: usize = database.query_row("PRAGMA page_size", [], |row| row.get(0))?;
    let sql = "SELECT rootpage FROM sqlite_schema WHERE name = 'runs'";
    let page: usize = database.query_row(sql, [], |row| row.get(0))?;
    drop(database);
    let mut bytes = fs::read(&path)?;
    // The table's page says that it has no cells: a torn write, the indexes still whole.
    bytes[(page - 1) * size + 3..][..2].fill(0);
    fs::write(&path, &bytes)?;
    for which in [Which::Open, Which::All] {
        let read = Ledger::open(folder.path()).and_then(|ledger| ledger.list(which));
        let refused = read.err().ok_or("no run was found, and nobody wondered")?;
        assert!(matches!(refused, StoreError::Damaged { .. }), "{refused:?}");
    }
    Ok(())
}

#[test]
fn a_state_directory_that_is_a_file_is_said_so() -> Outcome {
    let folder = tempfile::tempdir()?;
    let state = folder.path().join("gpurun");
    fs::write(&state, "")?;
    let refused = Ledger::open(&state).err().ok_or("it was opened")?;
    assert!(matches!(refused, StoreError::Unusable { .. }), "{refused}");
    Ok(())
}
