//! Checkpoints that go to an object store, from a box of this machine and from a rented one.

use crate::rented::rented;
use crate::world::{World, text};
use gpurun_clouds::Operation;
use gpurun_stores::{S3Fault, S3Server};
use serde_json::Value;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

const TO: &str = "s3://weights/runs";

fn keys(world: &mut World, server: &S3Server) {
    world.set("AWS_ACCESS_KEY_ID", S3Server::KEY_ID);
    world.set("AWS_SECRET_ACCESS_KEY", S3Server::SECRET);
    world.set("AWS_ENDPOINT_URL", server.url());
}

fn launch(world: &World, name: &str, epochs: u32) -> std::process::Output {
    run(world, world.launch_arguments(name, epochs))
}

/// Launches what these words say, but with the store for its checkpoints.
fn run(world: &World, mut words: Vec<String>) -> std::process::Output {
    let to = words
        .iter()
        .position(|word| word == "--to")
        .expect("a destination");
    TO.clone_into(&mut words[to + 1]);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    world.run(&words)
}

/// Amazon's own client; `None`, said aloud, where there is none.
#[expect(clippy::print_stderr, reason = "a test that can't run says so")]
fn aws() -> Option<PathBuf> {
    let clients = std::env::var_os("GPURUN_CLIENTS").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join(".venv/clients"),
        PathBuf::from,
    );
    let program = clients.join("aws/bin/aws");
    if program.exists() {
        return Some(program);
    }
    eprintln!(
        "skipped: no {}; `cargo xtask test` makes its environment",
        program.display()
    );
    None
}

fn verified(run: &Value) -> (String, String) {
    let word = |name: &str| run["verified"][name].as_str().expect(name).to_owned();
    (word("location"), word("sha256"))
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => files(&entry.path(), found),
            Ok(kind) if kind.is_file() => found.push(entry.path()),
            _ => {}
        }
    }
}

#[test]
fn weights_go_to_a_store_while_the_training_runs_and_come_back_from_it() {
    let server = S3Server::start().expect("a server");
    let mut world = World::new();
    keys(&mut world, &server);
    let launched = launch(&world, "cells", 3);
    assert!(launched.status.success(), "{}", text(&launched));
    let keys = world.home().join("gpurun/sink-keys.json");
    let mode = std::fs::metadata(&keys)
        .expect("the box's key")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    world.let_epochs_pass(1);
    let run = world.until("cells", "epoch 1 is verified", |run| {
        run["verified"]["epoch"] == 1
    });
    let (location, _) = verified(&run);
    assert!(
        location.starts_with("s3://weights/runs/cells-"),
        "{location}"
    );

    // A store that is busy for a while costs time, not work.
    server.arm(S3Fault::SlowDown, 3);
    world.let_epochs_pass(3);
    let waited = world.run(&["wait", "cells"]);
    let said = text(&waited);
    assert!(waited.status.success(), "{said}");
    assert!(said.contains("s3://weights/runs/cells-"), "{said}");
    assert!(world.boxes().is_empty());

    world.ok(&["pull", "cells", "here"]);
    let run = world.status("cells");
    let (location, sha256) = verified(&run);
    let name = location.rsplit('/').next().expect("a name");
    let pulled = std::fs::read(world.path("here").join(name)).expect("pulled");
    assert!(world.ok(&["logs", "cells"]).contains("epoch"));

    // The store's own client finds the same bytes.
    if let Some(aws) = aws() {
        let copy = world.path("copy.pt");
        let output = Command::new(aws)
            .args(["s3", "cp", "--only-show-errors", &location])
            .arg(&copy)
            .env_clear()
            .env("HOME", world.path("home"))
            .env("AWS_ACCESS_KEY_ID", S3Server::KEY_ID)
            .env("AWS_SECRET_ACCESS_KEY", S3Server::SECRET)
            .env("AWS_ENDPOINT_URL", server.url())
            .env("AWS_DEFAULT_REGION", "us-east-1")
            .output()
            .expect("it starts");
        assert!(output.status.success(), "{}", text(&output));
        assert_eq!(std::fs::read(copy).expect("copied"), pulled);
    }
    assert!(!sha256.is_empty());

    let mut written = Vec::new();
    files(&world.path("."), &mut written);
    assert!(written.iter().any(|file| file.ends_with("ledger.db")));
    for file in written {
        let bytes = std::fs::read(&file).expect("readable");
        let secret = S3Server::SECRET.as_bytes();
        let holds = bytes.windows(secret.len()).any(|part| part == secret);
        assert!(!holds, "{} holds the secret", file.display());
    }
}

#[test]
fn a_store_that_takes_nothing_is_refused_before_anything_is_rented() {
    let server = S3Server::start().expect("a server");
    let mut world = World::new();
    let refused = launch(&world, "cells", 1);
    let said = text(&refused);
    assert!(!refused.status.success());
    assert!(said.contains("AWS_ACCESS_KEY_ID"), "{said}");
    keys(&mut world, &server);
    server.arm(S3Fault::AccessDenied, u32::MAX);
    let refused = launch(&world, "cells", 1);
    let said = text(&refused);
    assert!(
        !refused.status.success() && said.contains("AccessDenied"),
        "{said}"
    );
    assert!(world.boxes().is_empty());
}

#[test]
fn a_rented_box_pushes_by_itself_and_its_successor_goes_on_from_the_store() {
    let Some(mut rented) = rented() else { return };
    let server = S3Server::start().expect("a server");
    keys(&mut rented.world, &server);
    let launched = run(&rented.world, rented.launch_words(&[]));
    assert!(launched.status.success(), "{}", text(&launched));
    let world = &rented.world;
    world.let_epochs_pass(2);
    let run = world.until("cells", "epoch 2 is verified", |run| {
        run["verified"]["epoch"] == 2
    });
    assert!(verified(&run).0.starts_with(TO), "{run}");
    let log = serde_json::to_string(&rented.cloud.requests()).expect("a log");
    assert!(
        !log.contains(S3Server::SECRET),
        "no key goes through the vendor"
    );

    world.ok(&["destroy", "cells", "--yes"]);
    assert_eq!(rented.living(), 0);
    let started = text(&world.run(&["start", "cells"]));
    assert!(started.contains("bring the checkpoints back"), "{started}");
    world.ok(&["ssh", "cells", "--", "test -f runs/cells/weights/last.pt"]);
    world.let_epochs_pass(3);
    let waited = world.run(&["wait", "cells"]);
    assert!(waited.status.success(), "{}", text(&waited));
    assert_eq!(
        (rented.living(), rented.cloud.count(Operation::Create)),
        (0, 2)
    );
    rented.pays_what_is_billed("cells");
}
