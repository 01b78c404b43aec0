//! Every verb's `--json` is one versioned document, and `docs/json.md` names each of its keys.

use crate::world::{World, text};
use gpurun_dataset::shapes::{ShapesConfig, generate};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::PermissionsExt;

const PAGE: &str = include_str!("../../docs/json.md");

/// Objects whose keys are somebody's data, not the schema's.
const OPEN_MAPS: [&str; 4] = ["env", "splits", "train_instance_counts", "details"];

/// The sections of the page by their anchors.
fn sections() -> BTreeMap<String, &'static str> {
    let sections = PAGE.split("\n## ").skip(1);
    sections
        .map(|section| {
            let (title, body) = section.split_once('\n').expect("a title and a body");
            (anchor(title), body)
        })
        .collect()
}

fn anchor(title: &str) -> String {
    title
        .to_lowercase()
        .chars()
        .filter(|letter| letter.is_ascii_alphanumeric() || " -".contains(*letter))
        .map(|letter| if letter == ' ' { '-' } else { letter })
        .collect()
}

/// Every word in backticks of a section and of those it links to, without its examples.
fn named(anchor: &str) -> BTreeSet<&'static str> {
    let sections = sections();
    let mut to_read = vec![anchor.to_owned()];
    let mut seen = BTreeSet::new();
    let mut words = BTreeSet::from(["schema_version"]);
    while let Some(next) = to_read.pop() {
        let body = sections
            .get(&next)
            .unwrap_or_else(|| panic!("docs/json.md has no section #{next}"));
        let prose = body.split("```").step_by(2);
        for part in prose {
            let quoted = part.split('`').skip(1).step_by(2);
            words.extend(quoted.flat_map(|span| {
                span.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_')
            }));
            for link in part.split("](#").skip(1) {
                let (target, _) = link.split_once(')').expect("a whole link");
                if seen.insert(target.to_owned()) {
                    to_read.push(target.to_owned());
                }
            }
        }
    }
    words
}

fn keys(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                found.insert(key.clone());
                if !OPEN_MAPS.contains(&key.as_str()) {
                    keys(value, found);
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| keys(item, found)),
        _ => {}
    }
}

fn top_level(document: &Value) -> BTreeSet<&String> {
    document
        .as_object()
        .expect("a document is an object")
        .keys()
        .collect()
}

/// Checks one document against the section of this anchor; the page's example is of the same shape.
fn check(anchor: &str, document: &Value) {
    let mut found = BTreeSet::new();
    keys(document, &mut found);
    let named = named(anchor);
    let missing: Vec<&String> = found
        .iter()
        .filter(|key| !named.contains(key.as_str()))
        .collect();
    assert!(
        missing.is_empty(),
        "docs/json.md#{anchor} doesn't name {missing:?} of {document}"
    );
    let section = sections()[anchor];
    let example = section
        .split("```json\n")
        .nth(1)
        .and_then(|rest| rest.split("```").next())
        .unwrap_or_else(|| panic!("docs/json.md#{anchor} has no example"));
    let example: Value = serde_json::from_str(example)
        .unwrap_or_else(|error| panic!("docs/json.md#{anchor}: the example: {error}"));
    assert_eq!(
        top_level(&example),
        top_level(document),
        "the example of docs/json.md#{anchor} is out of date"
    );
}

/// Runs a verb and checks its document; `world.json` has seen that stdout is that document alone.
fn verb(world: &World, anchor: &str, arguments: &[&str]) -> Value {
    let document = world.json(arguments);
    assert!(document.get("error").is_none(), "{arguments:?}: {document}");
    check(anchor, &document);
    document
}

fn words(all: &[String]) -> Vec<&str> {
    all.iter().map(String::as_str).collect()
}

#[test]
fn the_documents_of_a_runs_whole_life() {
    let world = World::new();
    verb(&world, "gpurun-status", &["status"]);
    let launch = world.launch_arguments("cells", 3);
    let dry = [words(&launch), vec!["-n"]].concat();
    verb(&world, "gpurun-launch--n", &dry);
    let without_key = &["launch", "-n", "--gpu", "4090x8"];
    let shown = verb(&world, "gpurun-launch--n", without_key);
    assert!(
        shown["missing_keys"][0]
            .as_str()
            .is_some_and(|line| line.contains("VAST_API_KEY")),
        "{shown}"
    );

    verb(&world, "gpurun-launch", &words(&launch));
    world.let_epochs_pass(1);
    world.until("cells", "epoch 1", |run| run["training"]["epoch"] == 1);
    let pushed = verb(&world, "gpurun-push", &["push", "cells"]);
    assert_eq!(pushed["run"]["instance_state"], "running");
    assert_eq!(pushed["run"]["verified"]["epoch"], 1);
    verb(&world, "gpurun-status", &["status"]);
    verb(&world, "gpurun-cost-run", &["cost", "cells"]);
    verb(&world, "gpurun-pull", &["pull", "cells"]);
    let log = verb(&world, "gpurun-logs", &["logs", "cells"]);
    assert_eq!(log["lines"][0], "epoch 1 of 3");
    assert_eq!(log["from"], "box");
    verb(&world, "gpurun-stop", &["stop", "cells"]);
    verb(&world, "gpurun-reap", &["reap"]);
    world.let_epochs_pass(3);
    verb(&world, "gpurun-start", &["start", "cells"]);
    verb(&world, "gpurun-wait", &["wait", "cells"]);
    verb(
        &world,
        "gpurun-explain",
        &["explain", "cells", "--last", "99"],
    );
    let log = verb(&world, "gpurun-logs", &["logs", "cells", "-n", "1"]);
    assert_eq!(log["lines"], serde_json::json!(["epoch 3 of 3"]));
    assert_eq!(log["from"], "destination");

    world.ok(&words(&world.launch_arguments("more", 9)));
    verb(&world, "gpurun-destroy", &["destroy", "more"]);
}

#[test]
fn the_documents_of_orphans() {
    let world = World::new();
    world.launch_detached("cells", 2);
    let id = world.boxes()[0].clone();
    for name in ["ledger.db", "ledger.db-wal", "ledger.db-shm"] {
        let _absent = std::fs::remove_file(world.path("state").join(name));
    }
    let found = verb(&world, "gpurun-orphans", &["orphans"]);
    assert!(found["boxes"][0]["burn_per_hour"].is_number(), "{found}");
    verb(&world, "gpurun-reap", &["reap"]);
    verb(
        &world,
        "gpurun-orphans",
        &["orphans", "--destroy", &id, "--yes"],
    );
}

#[test]
fn the_documents_of_verbs_that_need_no_run() {
    let world = World::new();
    verb(&world, "gpurun-volumes", &["volumes"]);
    let offers = verb(&world, "gpurun-offers", &["offers"]);
    assert!(offers["offers"][0]["job_cost"].is_number(), "{offers}");
    verb(&world, "gpurun-providers", &["providers"]);
    for arguments in [
        &["cost"][..],
        &["cost", "--away", "10h"],
        &["cost", "--restart-probability", "0.7"],
        &["cost", "--gpu", "h100x1"],
    ] {
        verb(&world, "gpurun-cost", arguments);
    }
}

#[test]
fn the_document_of_doctor() {
    let world = World::new();
    let config = ShapesConfig {
        train: 4,
        val: 2,
        size: 64,
        seed: 1,
    };
    generate(&world.path("shapes"), config).expect("a drawn data set");
    let label = world.path("shapes/labels/train/0001.txt");
    std::fs::write(label, "0 0.5 0.5 0.1 0.1\n0 0.5 0.5\n").expect("written");
    let data = world.path("shapes").display().to_string();
    let found = verb(
        &world,
        "gpurun-doctor",
        &["doctor", &data, "--only", "labels"],
    );
    let syntax = &found["findings"][0];
    assert_eq!(syntax["check_id"], "labels.syntax");
    assert_eq!(syntax["lines"][0], 2);
    assert_eq!(found["exit_code"], 1);
    let fast = world.json(&["doctor", &data, "--fast", "--skip", "labels.syntax"]);
    assert_eq!(fast["exit_code"], 0, "{fast}");
    for (code, arguments) in [
        (2, &["--only", "label"][..]),
        (2, &["--fast", "--only", "splits"]),
        (1, &["--only", "balance", "--strict"]),
    ] {
        let output = world.run(&[&["doctor", &data], arguments].concat());
        assert_eq!(output.status.code(), Some(code), "{}", text(&output));
    }
    let nowhere = world.run(&["doctor", "nowhere.yaml"]);
    assert_eq!(nowhere.status.code(), Some(3), "{}", text(&nowhere));
}

#[test]
fn the_document_of_size() {
    let world = World::new();
    let config = ShapesConfig {
        train: 2,
        val: 1,
        size: 64,
        seed: 1,
    };
    generate(&world.path("shapes"), config).expect("a drawn data set");
    let data = world.path("shapes").display().to_string();
    let rented = verb(&world, "gpurun-size", &["size", &data, "--epochs", "100"]);
    assert_eq!(rented["parts"][1]["sum"], "13 files x 36 MB");
    // 2 x 0.468 + 6 GB and next to no data, and 30 %.
    assert_eq!(rented["advised"], 10);
    let larger = &["size", &data, "--model", "yolox-x", "--save-period", "2"];
    let larger = verb(&world, "gpurun-size", larger);
    assert_eq!(larger["advised"], 640, "{larger}");

    let tar = world.path("set.tar");
    let mut packed = tar::Builder::new(std::fs::File::create(&tar).expect("created"));
    packed.append_dir_all("shapes", &data).expect("packed");
    packed.finish().expect("closed");
    let archive = verb(&world, "gpurun-size", &["size", &tar.display().to_string()]);
    assert_eq!(archive["parts"][0], rented["parts"][0]);

    let job = [
        "launch", "-n", "--gpu", "cpu", "--data", &data, "--model", "yolo9-t", "--disk", "1",
    ];
    let refused = world.run(&job);
    assert_eq!(refused.status.code(), Some(2), "{}", text(&refused));
    assert!(
        text(&refused).contains("checkpoints 1.2 GB"),
        "{}",
        text(&refused)
    );
}

#[test]
fn the_documents_of_cron() {
    let world = World::new();
    let stand_in = world.path("bin/crontab");
    std::fs::create_dir(world.path("bin")).expect("a writable folder");
    let script = "#!/bin/sh\ntable=\"$0.table\"\ncase \"$1\" in\n-l) [ -e \"$table\" ] || { echo 'no crontab for x' >&2; exit 1; }; cat \"$table\" ;;\n-r) rm \"$table\" ;;\n-) cat > \"$table\" ;;\nesac\n";
    let made = std::process::Command::new("/bin/sh")
        .args(["-c", "printf %s \"$1\" > \"$2\"", "sh", script])
        .arg(&stand_in)
        .status()
        .expect("a shell");
    assert!(made.success());
    std::fs::set_permissions(&stand_in, std::fs::Permissions::from_mode(0o755)).expect("ours");
    for arguments in [["cron", "install"], ["cron", "show"], ["cron", "remove"]] {
        let output = world
            .command(&[&["--json"][..], &arguments].concat())
            .env(
                "PATH",
                format!("{}:/usr/bin:/bin", world.path("bin").display()),
            )
            .output()
            .expect("gpurun starts");
        let document: Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|error| panic!("{arguments:?}: {error}: {}", text(&output)));
        assert!(output.status.success(), "{document}");
        check("gpurun-cron", &document);
    }
}

#[test]
fn every_failure_is_one_document_too() {
    let world = World::new();
    world.launch_detached("cells", 2);
    for (code, name, arguments) in [
        (2, "usage", &["stop", "--nonsense"][..]),
        (2, "usage", &["lauch"]),
        (2, "usage", &["stop"]),
        (2, "usage", &["logs", "cells", "--follow"]),
        (2, "usage", &["launch", "--gpu", "4009x8"]),
        (4, "not_found", &["status", "nope"]),
        (5, "provider", &["launch", "--gpu", "4090x8", "--yes"]),
        (10, "declined", &["destroy", "cells", "--force"]),
    ] {
        let document = world.json(arguments);
        check("failures", &document);
        assert_eq!(document["error"], name, "{arguments:?}: {document}");
        assert_eq!(document["exit_code"], code, "{arguments:?}: {document}");
        let exited = world
            .run(&[&["--json"][..], arguments].concat())
            .status
            .code();
        assert_eq!(exited, Some(code), "{arguments:?}");
    }
    let help = &world.json(&["stop"])["help"];
    assert_eq!(help, "one is open: gpurun stop cells");
}
