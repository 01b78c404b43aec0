//! A run whose work lies on a network volume: a stop ends the box and keeps the volume, a start goes on there.

use crate::world::{World, eventually, text};
use gpurun_clouds::boxes::BoxKind;
use gpurun_clouds::runpod::RunPod;
use gpurun_clouds::{ClockKind, Operation, SimConfig};
use rust_decimal::Decimal;
use std::time::Duration;

#[test]
#[expect(clippy::print_stderr, reason = "a test that can't run says so")]
fn a_stop_with_a_volume_ends_the_box_and_the_next_one_finds_the_work_there() {
    let config = SimConfig {
        clock: ClockKind::Real,
        // A volume's path is absolute: it takes a machine of its own.
        boxes: BoxKind::Isolated,
        linger: Duration::from_secs(2),
        credit: Decimal::from(1_000),
        ..SimConfig::default()
    };
    let cloud = match RunPod::start(config) {
        Ok(cloud) => cloud,
        Err(error) => {
            eprintln!("skipped: {error}");
            return;
        }
    };
    let mut world = World::new();
    world.set("RUNPOD_API_URL", cloud.url());
    world.set("RUNPOD_API_KEY", cloud.key());
    world.set("GPURUN_RATE_LIMITS", "off");
    let place = world.json(&["offers", "--gpu", "4090x1", "--provider", "runpod"])["offers"][0]["offer"]["region"].clone();
    let place = place.as_str().unwrap_or("EU-RO-1").to_owned();
    let make = [
        "--provider",
        "runpod",
        "--size",
        "20",
        "--place",
        &place,
        "--yes",
    ];
    let made = world.json(&[&["volumes", "create", "work"][..], &make].concat());
    let id = made["volumes"][0]["id"]
        .as_str()
        .expect("its id")
        .to_owned();

    let out = world.path("out").display().to_string();
    let volume = format!("{id}:/workspace");
    // Waits for a word of ours; what it did before is on the volume.
    let command = "mkdir -p $GPURUN_RUN_DIR; echo begun >> $GPURUN_RUN_DIR/note.txt; until [ -e go ]; do sleep 0.1; done";
    let words = [
        "launch",
        "--detach",
        "--yes",
        "--gpu",
        "4090x1",
        "--provider",
        "runpod",
        "--name",
        "cells",
        "--to",
        &out,
        "--file",
        "*.txt",
        "--volume",
        &volume,
        "--command",
        command,
    ];
    let launched = world.run(&words);
    assert!(launched.status.success(), "{}", text(&launched));
    let notes = || {
        world.ok(&[
            "ssh",
            "cells",
            "--",
            "cat /workspace/gpurun/runs/*/cells/note.txt; pwd",
        ])
    };
    eventually("it begins", || notes().contains("begun").then_some(()));

    let stopped = world.run(&["stop", "cells"]);
    assert!(stopped.status.success(), "{}", text(&stopped));
    let alive = |cloud: &gpurun_clouds::Cloud| cloud.state().alive().len();
    assert_eq!(
        alive(&cloud),
        0,
        "its disk would be wiped: the box is ended"
    );
    let volumes = world.json(&["volumes"]);
    assert_eq!(
        volumes["volumes"][0]["id"],
        id.as_str(),
        "and the volume stays"
    );

    let started = world.run(&["start", "cells"]);
    assert!(started.status.success(), "{}", text(&started));
    eventually("it finds its work", || {
        (notes().matches("begun").count() == 2).then_some(())
    });
    // Relative to where it started, on the volume.
    world.ok(&["ssh", "cells", "--", "touch /workspace/gpurun/go"]);
    let waited = world.run(&["wait", "cells"]);
    assert!(waited.status.success(), "{}", text(&waited));
    assert_eq!((alive(&cloud), cloud.count(Operation::Create)), (0, 2));
    world.json(&["volumes", "delete", &id, "--provider", "runpod", "--yes"]);
}
