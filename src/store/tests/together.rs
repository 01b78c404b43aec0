//! Several processes on one ledger, some of them killed.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rusqlite::Connection;

use super::Outcome;
use super::fixtures::insert;
use crate::store::{Ledger, StoreError};

const STATE: &str = "GPURUN_TEST_LEDGER";
const COUNT: &str = "GPURUN_TEST_COUNT";
const RUN: &str = "k3v9x2mq7d";

/// Another process that adds one to a run's launches `count` times.
fn counter(state: &Path, count: u32) -> std::io::Result<Child> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args([
        "--exact",
        "store::tests::together::counting_process",
        "--nocapture",
    ]);
    command.env(STATE, state).env(COUNT, count.to_string());
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn()
}

/// Not a test by itself: what [`counter`] starts.
#[test]
fn counting_process() -> Outcome {
    let (Ok(state), Ok(count)) = (std::env::var(STATE), std::env::var(COUNT)) else {
        return Ok(());
    };
    let ledger = Ledger::open(&PathBuf::from(state))?;
    for _ in 0..count.parse::<u32>()? {
        ledger.update(RUN, None, |run| run.launches += 1)?;
    }
    Ok(())
}

#[test]
fn no_change_of_another_process_is_lost() -> Outcome {
    let folder = tempfile::tempdir()?;
    let ledger = Ledger::open(folder.path())?;
    insert(&ledger, RUN, "shapes")?;
    let counters = (0..3)
        .map(|_| counter(folder.path(), 50))
        .collect::<Result<Vec<_>, _>>()?;
    for _ in 0..50 {
        ledger.update(RUN, None, |run| run.launches += 1)?;
    }
    for mut counter in counters {
        assert!(counter.wait()?.success());
    }
    assert_eq!(ledger.get(RUN)?.launches, 200);
    Ok(())
}

#[test]
fn killed_writers_leave_a_sound_ledger() -> Outcome {
    let folder = tempfile::tempdir()?;
    let ledger = Ledger::open(folder.path())?;
    insert(&ledger, RUN, "shapes")?;
    for _ in 0..5 {
        let before = ledger.get(RUN)?.launches;
        let mut counters = [
            counter(folder.path(), u32::MAX)?,
            counter(folder.path(), u32::MAX)?,
        ];
        let deadline = Instant::now() + Duration::from_secs(60);
        while ledger.get(RUN)?.launches < before + 5 {
            assert!(Instant::now() < deadline, "the counters don't count");
            std::thread::yield_now();
        }
        for counter in &mut counters {
            counter.kill()?;
            counter.wait()?;
        }
        ledger.update(RUN, None, |run| run.launches += 1)?;
    }
    let raw = Connection::open(folder.path().join("ledger.db"))?;
    let verdict: String = raw.pragma_query_value(None, "integrity_check", |row| row.get(0))?;
    assert_eq!(verdict, "ok");
    Ok(())
}

#[test]
fn of_many_who_make_the_ledger_and_take_one_name_one_succeeds() -> Outcome {
    let folder = tempfile::tempdir()?;
    let state = folder.path().join("gpurun");
    let results: Vec<Result<(), StoreError>> = std::thread::scope(|scope| {
        let state = &state;
        let launch = move |number: u32| {
            let ledger = Ledger::open(state)?;
            insert(&ledger, &format!("k{number}"), "shapes").map(|_| ())
        };
        let launches: Vec<_> = (0..8)
            .map(|number| scope.spawn(move || launch(number)))
            .collect();
        launches
            .into_iter()
            .map(|launch| launch.join().expect("no panic"))
            .collect()
    });
    let won = results.iter().filter(|result| result.is_ok()).count();
    let lost = results
        .iter()
        .filter(|result| matches!(result, Err(StoreError::NameInUse { .. })))
        .count();
    assert_eq!((won, lost), (1, 7), "{results:?}");
    Ok(())
}

#[test]
fn a_killed_process_leaves_no_lock_behind() -> Outcome {
    let folder = tempfile::tempdir()?;
    let ledger = Ledger::open(folder.path())?;
    let mut command = Command::new(std::env::current_exe()?);
    command.args([
        "--exact",
        "store::tests::together::locking_process",
        "--nocapture",
    ]);
    let mut other = command
        .env(STATE, folder.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    let deadline = Instant::now() + Duration::from_secs(60);
    let held = loop {
        match ledger.lock(RUN) {
            Err(held) if held.to_string().contains("process") => break held.to_string(),
            _ => assert!(Instant::now() < deadline, "the other process takes no lock"),
        }
        std::thread::yield_now();
    };
    assert!(held.contains(&other.id().to_string()), "{held}");
    other.kill()?;
    other.wait()?;
    let _lock = ledger.lock(RUN)?;
    Ok(())
}

/// Not a test by itself: a process that takes the lock and keeps it until it is killed.
#[test]
fn locking_process() -> Outcome {
    let Ok(state) = std::env::var(STATE) else {
        return Ok(());
    };
    let ledger = Ledger::open(&PathBuf::from(state))?;
    let _lock = loop {
        if let Ok(lock) = ledger.lock(RUN) {
            break lock;
        }
    };
    loop {
        std::thread::park();
    }
}
