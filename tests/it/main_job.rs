//! The main job with any command as engine: rent, install, prove, launch, follow, push, end the bill.

use crate::world::{self, World, eventually, kill};
use serde_json::Value;

fn arguments(all: &[String]) -> Vec<&str> {
    all.iter().map(String::as_str).collect()
}

#[test]
fn a_training_runs_to_its_end_and_the_bill_with_it() {
    let world = World::new();
    world.let_epochs_pass(3);
    let launch = world.launch_arguments("cells", 3);
    let attached: Vec<&str> = arguments(&launch)
        .into_iter()
        .filter(|word| *word != "--detach")
        .collect();
    let said = world.ok(&attached);
    assert!(said.contains("mAP50-95 0.750"), "{said}");
    assert!(said.contains("verified by hash"), "{said}");

    assert!(world.boxes().is_empty(), "the box is destroyed");
    let run = world.status("cells");
    assert_eq!(run["outcome"], "completed");
    assert_eq!(run["phase"], "ended");
    let weights = run["verified"]["location"]
        .as_str()
        .expect("verified weights");
    assert!(std::path::Path::new(weights).is_file(), "{weights}");
    for name in [
        "best.pt",
        "last.pt",
        "manifest.json",
        "status.json",
        "metrics.jsonl",
    ] {
        assert!(
            world.path("out/cells").join(name).is_file(),
            "{name} was not pushed"
        );
    }
    let explained = world.ok(&["explain", "cells", "--last", "20"]);
    assert!(explained.contains("destroy"), "{explained}");
    assert!(world.ok(&["logs", "cells"]).contains("epoch 3 of 3"));
    assert!(world.ok(&["orphans"]).contains("no orphans"));
    assert!(world.ok(&["reap"]).contains("nothing to do"));
}

#[test]
fn a_killed_training_is_seen_as_killed_with_its_last_verified_checkpoint() {
    let world = World::new();
    world.launch_detached("cells", 5);
    world.let_epochs_pass(2);
    world.until("cells", "epoch 2 verified", |run| {
        run["verified"]["epoch"] == 2
    });
    kill(world.training_pid());
    let run = world.until("cells", "killed", |run| {
        run["training"]["state"] == "killed"
    });
    assert_eq!(run["verified"]["epoch"], 2);
    assert!(
        run["state"].as_str().expect("words").starts_with("killed"),
        "{run}"
    );

    // The person will want to look: stopped, not destroyed, and the text says until when.
    let run = eventually("the box is stopped", || {
        let reaped = world.json(&["reap"]);
        let run = reaped["runs"][0].clone();
        assert_eq!(run["outcome"], "killed");
        (run["instance_state"] == "stopped").then_some(run)
    });
    assert!(
        run["next"].as_str().expect("words").contains("destroy in"),
        "{run}"
    );
    assert_eq!(world.boxes().len(), 1);

    // It goes on from there.
    world.let_epochs_pass(5);
    world.ok(&["start", "cells"]);
    world.ok(&["wait", "cells"]);
    assert_eq!(world.status("cells")["outcome"], "completed");
    assert!(world.boxes().is_empty());
}

#[test]
fn stop_keeps_the_disk_and_start_goes_on_where_it_ended() {
    let world = World::new();
    world.launch_detached("cells", 4);
    world.let_epochs_pass(2);
    world.until("cells", "epoch 2", |run| run["training"]["epoch"] == 2);
    world.ok(&["stop", "cells"]);
    let run = world.status("cells");
    assert_eq!(run["instance_state"], "stopped");
    assert_eq!(run["verified"]["epoch"], 2);

    world.let_epochs_pass(4);
    world.ok(&["start", "cells"]);
    world.ok(&["wait", "cells"]);
    let history = std::fs::read_to_string(world.path("out/cells/metrics.jsonl")).expect("pushed");
    assert_eq!(
        history.lines().count(),
        4,
        "no epoch was trained twice: {history}"
    );
    assert!(world.boxes().is_empty());
}

#[test]
fn destroy_pushes_first_and_leaves_nothing() {
    let world = World::new();
    world.launch_detached("cells", 4);
    world.let_epochs_pass(1);
    world.until("cells", "epoch 1", |run| run["training"]["epoch"] == 1);
    world.ok(&["destroy", "cells"]);
    assert!(world.boxes().is_empty());
    assert!(world.path("out/cells/last.pt").is_file());
    assert_eq!(world.status("cells")["phase"], "ended");
    // A name is free again once its run is over, and the earlier run keeps its files.
    let before = std::fs::read(world.path("out/cells/last.pt")).expect("pushed");
    world.let_epochs_pass(4);
    world.launch_detached("cells", 4);
    world.ok(&["wait", "cells"]);
    assert_eq!(
        std::fs::read(world.path("out/cells/last.pt")).expect("kept"),
        before
    );
}

#[test]
fn a_box_outlives_gpurun_and_pull_gets_verified_files() {
    let world = World::new();
    world.launch_detached("cells", 3);
    world.let_epochs_pass(1);
    world.until("cells", "epoch 1", |run| run["training"]["epoch"] == 1);
    let pulled = world.json(&["pull", "cells", "here"]);
    let files = pulled["files"].as_array().expect("files");
    assert!(
        files.iter().any(|file| file["name"] == "best.pt"),
        "{pulled}"
    );
    assert!(world.path("here/best.pt").is_file());
    world.ok(&["push", "cells"]);
    world.ok(&["destroy", "cells"]);
}

#[test]
fn two_launches_with_one_name_are_one_run() {
    let world = World::new();
    world.launch_detached("cells", 2);
    let said = world.fails(2, &arguments(&world.launch_arguments("cells", 2)));
    assert!(said.contains("cells"), "{said}");
    assert_eq!(world.boxes().len(), 1);
    world.ok(&["destroy", "cells", "--force", "--yes"]);
}

#[test]
fn a_failed_training_says_why_and_its_box_is_stopped_not_lost() {
    let world = World::new();
    let output = world.run(&[
        "launch",
        "--gpu",
        "cpu",
        "--name",
        "broken",
        "--to",
        "out",
        "--command",
        "echo 'no such file: weights.bin' >&2; exit 3",
    ]);
    assert_eq!(
        output.status.code(),
        Some(7),
        "{}",
        crate::world::text(&output)
    );
    let run = world.status("broken");
    assert_eq!(run["outcome"], "failed");
    assert_eq!(run["training"]["exit_code"], 3);
    let message = run["training"]["error"]["message"]
        .as_str()
        .expect("a message");
    assert!(message.contains("no such file: weights.bin"), "{run}");
    world.ok(&["destroy", "broken"]);
    assert!(world.boxes().is_empty());
}

#[test]
fn a_training_that_is_over_at_once_leaves_no_box_behind() {
    let world = World::new();
    world.ok(&[
        "launch",
        "--gpu",
        "cpu",
        "--name",
        "short",
        "--to",
        "out",
        "--command",
        "true",
    ]);
    assert_eq!(world.status("short")["phase"], "ended");
    assert!(world.boxes().is_empty());
}

#[test]
fn a_bare_box_is_ready_under_a_lease() {
    if !world::has_trainer("a bare box under a lease") {
        return;
    }
    let world = World::new();
    world.ok(&["launch", "--gpu", "cpu", "--name", "bare"]);
    let run = world.status("bare");
    let words = |key: &str| run[key].as_str().expect("words").to_owned();
    assert!(words("state").starts_with("ready"), "{run}");
    assert!(
        words("next").contains("destroy in 1 h 59 min (lease)"),
        "{run}"
    );
    world.ok(&["destroy", "bare"]);
    assert!(world.boxes().is_empty());
}

#[test]
fn a_missing_trainer_is_said_before_anything_is_rented() {
    let world = World::new();
    let output = world
        .command(&["launch", "--gpu", "cpu", "--name", "bare"])
        .env_remove("GPURUN_TRAIN")
        .env("PATH", "/nowhere")
        .output()
        .expect("gpurun starts");
    let said = crate::world::text(&output);
    // Where the trainer was built beside gpurun it is found there.
    if world::beside_gpurun("gpurun-train").is_file() {
        assert_eq!(output.status.code(), Some(0), "{said}");
        world.ok(&["destroy", "bare"]);
        return;
    }
    assert_eq!(output.status.code(), Some(6), "{said}");
    assert!(said.contains("GPURUN_TRAIN"), "{said}");
    assert!(!world.path("state/ledger.db").exists(), "{said}");
}

#[test]
fn boxes_that_no_ledger_answers_for_are_orphans() {
    let world = World::new();
    world.launch_detached("cells", 2);
    let box_id = world.boxes()[0].clone();
    for name in ["ledger.db", "ledger.db-wal", "ledger.db-shm"] {
        let _absent = std::fs::remove_file(world.path("state").join(name));
    }
    let said = world.fails(8, &["reap"]);
    assert!(said.contains("ORPHAN") && said.contains(&box_id), "{said}");
    world.fails(10, &["orphans", "--destroy", &box_id]);
    assert_eq!(world.boxes().len(), 1, "nothing is destroyed without a yes");
    world.ok(&["orphans", "--destroy", &box_id, "--yes"]);
    assert!(world.boxes().is_empty());
}

#[test]
fn killing_gpurun_anywhere_in_a_launch_leaves_one_box_or_none() {
    use std::io::{BufRead, BufReader};

    // Each step of a launch ends with a line on stderr; the process dies right after the nth of them.
    for lines in 0.. {
        let world = World::new();
        let launch = world.launch_arguments("cells", 1);
        let mut child = world.spawn(&arguments(&launch));
        let stderr = BufReader::new(child.stderr.take().expect("piped"));
        let heard = stderr.lines().take(lines).filter_map(Result::ok).count();
        kill(i32::try_from(child.id()).expect("a pid"));
        let _status = child.wait().expect("gpurun ended");
        assert!(
            world.boxes().len() <= 1,
            "after {lines} lines: {:?}",
            world.boxes()
        );

        world.let_epochs_pass(1);
        eventually("the run comes to a true end", || {
            let reaped = world.json(&["reap"]);
            assert!(
                world.boxes().len() <= 1,
                "after {lines} lines: {:?}",
                world.boxes()
            );
            (reaped["runs"] == Value::Array(Vec::new())).then_some(())
        });
        assert!(world.boxes().is_empty(), "after {lines} lines");
        let all = world.json(&["status", "--all"]);
        for run in all["runs"].as_array().expect("runs") {
            assert_eq!(run["outcome"], "completed", "after {lines} lines: {run}");
        }
        if heard < lines {
            assert!(
                lines > 8,
                "the launch said too little to be killed anywhere: {lines} lines"
            );
            break;
        }
    }
}
