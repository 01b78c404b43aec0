use gpurun_lifecycle::{Intent, Phase};
use rusqlite::Connection;

use super::Outcome;
use super::fixtures::{insert, minute, run};
use crate::store::{Event, EventKind, Ledger, StoreError, Which};

#[test]
fn a_change_is_made_to_what_is_there_now_and_remembered() -> Outcome {
    let folder = tempfile::tempdir()?;
    let (one, other) = (Ledger::open(folder.path())?, Ledger::open(folder.path())?);
    insert(&one, "k3v9x2mq7d", "shapes")?;
    let stop = Event {
        at: minute(5),
        kind: EventKind::Intent,
        detail: "gpurun stop".to_owned(),
    };
    other.update("k3v9x2mq7d", Some(&stop), |run| run.intent = Intent::Stop)?;
    let after = one.update("k3v9x2mq7d", None, |run| run.launches += 1)?;
    assert_eq!(
        (after.intent, after.launches),
        (Intent::Stop, 1),
        "neither change is lost"
    );
    let events = one.events("k3v9x2mq7d")?;
    assert_eq!(events.last(), Some(&stop));
    assert_eq!(events.len(), 2);
    Ok(())
}

#[test]
fn a_name_belongs_to_one_open_run() -> Outcome {
    let folder = tempfile::tempdir()?;
    let ledger = Ledger::open(folder.path())?;
    insert(&ledger, "k3v9x2mq7d", "shapes")?;
    let refused = insert(&ledger, "w3v9x2mq7d", "shapes")
        .err()
        .ok_or("two runs have one name")?;
    assert!(
        matches!(&refused, StoreError::NameInUse { id, .. } if id == "k3v9x2mq7d"),
        "{refused}"
    );
    assert_eq!(ledger.list(Which::All)?.runs.len(), 1);
    assert_eq!(
        ledger.events("w3v9x2mq7d")?,
        [],
        "nothing of a refused run is left"
    );

    ledger.update("k3v9x2mq7d", None, |run| run.phase = Phase::Ended)?;
    insert(&ledger, "w3v9x2mq7d", "shapes")?;
    let reopened = ledger.update("k3v9x2mq7d", None, |run| run.phase = Phase::Requested);
    assert!(
        matches!(reopened, Err(StoreError::NameInUse { .. })),
        "an old run can't take it back"
    );
    Ok(())
}

#[test]
fn an_id_is_taken_for_ever() -> Outcome {
    let folder = tempfile::tempdir()?;
    let ledger = Ledger::open(folder.path())?;
    insert(&ledger, "k3v9x2mq7d", "shapes")?;
    ledger.update("k3v9x2mq7d", None, |run| run.phase = Phase::Ended)?;
    assert!(insert(&ledger, "k3v9x2mq7d", "other").is_err());
    Ok(())
}

#[test]
fn lists_are_newest_first_and_say_which() -> Outcome {
    let folder = tempfile::tempdir()?;
    let ledger = Ledger::open(folder.path())?;
    for number in 0..6 {
        insert(&ledger, &format!("k{number}"), &format!("run-{number}"))?;
        if number != 1 && number != 4 {
            ledger.update(&format!("k{number}"), None, |run| run.phase = Phase::Ended)?;
        }
    }
    let ids = |which| {
        ledger.list(which).map(|listing| {
            listing
                .runs
                .into_iter()
                .map(|run| run.id)
                .collect::<Vec<_>>()
        })
    };
    assert_eq!(ids(Which::Open)?, ["k4", "k1"]);
    assert_eq!(ids(Which::Recent(2))?, ["k5", "k4", "k3", "k1"]);
    assert_eq!(ids(Which::All)?, ["k5", "k4", "k3", "k2", "k1", "k0"]);
    assert_eq!(ledger.labels()?.len(), 6);
    Ok(())
}

#[test]
fn one_run_that_cannot_be_read_hides_no_other() -> Outcome {
    let folder = tempfile::tempdir()?;
    let ledger = Ledger::open(folder.path())?;
    insert(&ledger, "k3v9x2mq7d", "shapes")?;
    insert(&ledger, "w3v9x2mq7d", "cells")?;
    let raw = Connection::open(folder.path().join("ledger.db"))?;
    raw.execute(
        "UPDATE runs SET record = json_remove(record, '$.spec') WHERE id = 'k3v9x2mq7d'",
        [],
    )?;
    let listing = ledger.list(Which::All)?;
    assert_eq!(listing.runs.len(), 1);
    assert_eq!(listing.unreadable[0].label, "gpurun-k3v9x2mq7d");
    let refused = ledger.get("k3v9x2mq7d").err().ok_or("it was read")?;
    assert!(refused.to_string().contains("spec"), "{refused}");
    Ok(())
}

#[test]
fn listing_a_thousand_runs_walks_no_table_for_the_few_that_are_open() -> Outcome {
    let folder = tempfile::tempdir()?;
    let ledger = Ledger::open(folder.path())?;
    let raw = Connection::open(folder.path().join("ledger.db"))?;
    raw.execute_batch("BEGIN")?;
    for number in 0..1000 {
        let mut record = run(&format!("k{number:04}"), &format!("run-{number}"));
        record.phase = if number % 100 == 0 {
            Phase::Launched
        } else {
            Phase::Ended
        };
        raw.execute(
            "INSERT INTO runs (record) VALUES (?1)",
            [serde_json::to_string(&record)?],
        )?;
    }
    raw.execute_batch("COMMIT")?;
    assert_eq!(ledger.list(Which::Open)?.runs.len(), 10);
    assert_eq!(ledger.list(Which::Recent(20))?.runs.len(), 30);
    assert_eq!(ledger.list(Which::All)?.runs.len(), 1000);
    for sql in [
        "SELECT id, label, record FROM runs WHERE open = 1 ORDER BY seq DESC",
        "SELECT id FROM runs WHERE open = 1 AND name = 'run-3' AND id <> 'k'",
        "SELECT id, label, record FROM runs WHERE id = 'k0003'",
    ] {
        let mut statement = raw.prepare(&format!("EXPLAIN QUERY PLAN {sql}"))?;
        let steps = statement
            .query_map([], |row| row.get::<_, String>(3))?
            .collect::<Result<Vec<_>, _>>()?;
        let indexed = steps
            .iter()
            .all(|step| step.contains("USING INDEX") || step.contains("USING COVERING INDEX"));
        assert!(indexed, "{sql}: {steps:?}");
    }
    Ok(())
}

#[test]
fn a_person_may_type_a_name_or_the_start_of_an_id() -> Outcome {
    let folder = tempfile::tempdir()?;
    let ledger = Ledger::open(folder.path())?;
    insert(&ledger, "k3v9x2mq7d", "shapes")?;
    ledger.update("k3v9x2mq7d", None, |run| run.phase = Phase::Ended)?;
    insert(&ledger, "k3w0000000", "cells")?;
    let found = |asked: &str| ledger.find(asked).map(|run| run.id);
    assert_eq!(found("k3v9x2mq7d")?, "k3v9x2mq7d");
    assert_eq!(found("k3v")?, "k3v9x2mq7d");
    assert_eq!(
        found("shapes")?,
        "k3v9x2mq7d",
        "the newest closed run of that name"
    );
    insert(&ledger, "w500000000", "shapes")?;
    assert_eq!(
        found("shapes")?,
        "w500000000",
        "the open run of that name comes first"
    );
    insert(&ledger, "z000000000", "k3v9x2mq7d")?;
    assert_eq!(
        found("k3v9x2mq7d")?,
        "k3v9x2mq7d",
        "a whole id means that run, whatever others are called"
    );

    let said = |asked: &str| {
        ledger
            .find(asked)
            .map_or_else(|error| error.to_string(), |run| run.id)
    };
    assert_eq!(
        said("k3"),
        "`k3` may be any of k3w0000000 (cells), k3v9x2mq7d (shapes)"
    );
    assert_eq!(
        said("shape"),
        "there is no run `shape`; did you mean `shapes`?"
    );
    for nothing in ["", "%", "_", "k3v9x2mq7d0", "'; DROP TABLE runs; --"] {
        assert!(
            said(nothing).starts_with("there is no run"),
            "{nothing}: {}",
            said(nothing)
        );
    }
    Ok(())
}

#[test]
fn a_short_id_is_long_enough_to_be_the_only_one() -> Outcome {
    let folder = tempfile::tempdir()?;
    let ledger = Ledger::open(folder.path())?;
    for (id, name) in [
        ("k3v9x2mq7d", "one"),
        ("k3v9w00000", "two"),
        ("z000000000", "three"),
    ] {
        insert(&ledger, id, name)?;
    }
    assert_eq!(ledger.short_id("k3v9x2mq7d", 3)?, "k3v9x");
    assert_eq!(ledger.short_id("z000000000", 3)?, "z00");
    assert_eq!(
        ledger.short_ids(["z000000000", "k3v9w00000", "k3v9x2mq7d"], 3)?,
        ["z00", "k3v9w", "k3v9x"]
    );
    for id in ["k3v9x2mq7d", "k3v9w00000", "z000000000"] {
        assert_eq!(ledger.find(&ledger.short_id(id, 1)?)?.id, id);
    }
    Ok(())
}
