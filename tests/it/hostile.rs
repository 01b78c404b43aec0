//! Bad luck and bad manners after a launch: what dies, what is deleted, what can't be read.

use crate::world::{self, World, eventually};
use serde_json::Value;
use std::collections::BTreeSet;

/// The pids of all processes of a box, by its mark.
fn processes(mark: &str) -> Vec<i32> {
    let mark = format!("GPURUN_BOX={mark}");
    let entries = std::fs::read_dir("/proc").expect("/proc is there");
    entries
        .flatten()
        .filter_map(|entry| {
            let pid = entry.file_name().to_string_lossy().parse().ok()?;
            let environment = std::fs::read(entry.path().join("environ")).ok()?;
            let marked = environment
                .split(|byte| *byte == 0)
                .any(|variable| variable == mark.as_bytes());
            marked.then_some(pid)
        })
        .collect()
}

/// Kills the agent of the only box, and returns once it is gone.
fn kill_agent(world: &World) -> i32 {
    let heartbeat = std::fs::read(world.home().join("gpurun/heartbeat.json")).expect("it beats");
    let heartbeat: Value = serde_json::from_slice(&heartbeat).expect("JSON");
    let pid = heartbeat["agent"]["pid"].as_i64().expect("a pid");
    let pid = i32::try_from(pid).expect("a pid");
    world::kill_agent(pid);
    pid
}

#[test]
fn a_training_whose_agent_died_gets_a_new_one() {
    let world = World::new();
    world.launch_detached("cells", 3);
    world.let_epochs_pass(1);
    world.until("cells", "epoch 1 verified", |run| {
        run["verified"]["epoch"] == 1
    });
    let training = world.training_pid();
    kill_agent(&world);
    let run = world.until("cells", "the agent is missed", |run| {
        run["training"]["agent"] != "alive"
    });
    assert_eq!(run["training"]["state"], "running", "{run}");
    assert!(
        run["attention"][0]
            .as_str()
            .is_some_and(|words| words.contains("agent"))
    );

    let reaped = world.json(&["reap"]);
    let done = reaped["runs"][0]["done"]
        .as_array()
        .expect("actions")
        .clone();
    assert_eq!(done.len(), 1, "one push, not one in every pass: {done:?}");
    assert_eq!(world.status("cells")["training"]["agent"], "alive");
    assert_eq!(
        world.training_pid(),
        training,
        "the training was not started again"
    );
    // Nobody looks: the new agent pushes by itself.
    world.let_epochs_pass(3);
    eventually("the last epoch is pushed", || {
        let history = std::fs::read_to_string(world.path("out/cells/metrics.jsonl")).ok()?;
        (history.lines().count() == 3).then_some(())
    });
    world.ok(&["wait", "cells"]);
    assert_eq!(world.status("cells")["outcome"], "completed");
}

#[test]
fn nothing_runs_on_in_a_box_whose_folder_was_deleted() {
    let world = World::new();
    world.launch_detached("cells", 2);
    let id = world.boxes()[0].clone();
    assert!(!processes(&id).is_empty());
    std::fs::remove_dir_all(world.path("state/local/boxes").join(&id)).expect("a folder of ours");
    world.status("cells");
    assert_eq!(processes(&id), Vec::<i32>::new());
    world.ok(&["destroy", "cells", "--force", "--yes"]);
    assert!(world.boxes().is_empty());
}

#[test]
fn the_box_of_a_run_that_cannot_be_read_can_be_ended() {
    let world = World::new();
    world.launch_detached("cells", 2);
    let id = world.boxes()[0].clone();
    let ledger = rusqlite::Connection::open(world.path("state/ledger.db")).expect("a ledger");
    ledger
        .execute(
            "UPDATE runs SET record = json_set(record, '$.phase', 'flying')",
            [],
        )
        .expect("a run");
    drop(ledger);

    let status = world.fails(0, &["status"]);
    assert!(status.contains("can't be read"), "{status}");
    assert!(!status.contains("No runs yet"), "{status}");
    let document = world.json(&["status"]);
    assert_eq!(document["unreadable"].as_array().map(Vec::len), Some(1));
    let said = world.fails(8, &["reap"]);
    assert!(
        said.contains("can't be read") && said.contains(&id),
        "{said}"
    );
    assert!(!said.contains("nothing to do"), "{said}");
    assert_eq!(world.boxes().len(), 1, "it is not ended unasked");
    world.ok(&["orphans", "--destroy", &id, "--yes"]);
    assert!(world.boxes().is_empty());
}

#[test]
fn every_failure_is_one_json_document() {
    let world = World::new();
    let mut seen = BTreeSet::new();
    for arguments in [
        &["launch", "--nonsense"][..],
        &["nonsense"],
        &[],
        &["cost", "--disk", "-5"],
        &["offers", "--gpu", "4009"],
        &["launch", "--gpu", "4090x8", "--command", "true"],
        &["status", "nobody"],
        &["explain"],
        &["launch", "nowhere.toml"],
    ] {
        let mut all = vec!["--json"];
        all.extend(arguments);
        let output = world.run(&all);
        let document: Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|error| panic!("{arguments:?}: {error}: {output:?}"));
        assert_eq!(document["schema_version"], 1, "{arguments:?}");
        let code = i64::from(output.status.code().expect("a code"));
        assert_eq!(document["exit_code"], code, "{arguments:?}");
        let message = document["message"].as_str().expect("words");
        assert!(message.len() > 10, "{arguments:?}: {message}");
        seen.insert(code);
    }
    assert_eq!(seen, BTreeSet::from([2, 4, 5]));
}
