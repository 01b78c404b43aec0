//! The main job with the real trainer: drawn shapes, YOLO9-t on libtorch, real checkpoints.

use crate::world::{World, has_trainer, kill};
use gpurun_dataset::shapes::{ShapesConfig, generate};

fn draw(world: &World) {
    let config = ShapesConfig {
        train: 16,
        val: 4,
        size: 96,
        seed: 1,
    };
    generate(&world.path("shapes"), config).expect("a drawn data set");
}

fn job(world: &World, epochs: u32) {
    let text = format!(
        "name = \"shapes\"\n\
         [box]\ngpu = \"cpu\"\n\
         [data]\nsource = \"shapes\"\n\
         [train]\nengine = \"gpurun-train\"\nmodel = \"yolo9-t\"\nepochs = {epochs}\nbatch = 4\n\
         imgsz = 64\nsave_period = 1\nargs = {{ eval_interval = 1 }}\n\
         [checkpoints]\nto = \"out\"\n"
    );
    std::fs::write(world.path("gpurun.toml"), text).expect("a writable folder");
}

#[test]
fn shapes_are_trained_pushed_and_paid_for() {
    if !has_trainer("a whole job with the real trainer") {
        return;
    }
    let world = World::new();
    draw(&world);
    job(&world, 2);
    let said = world.ok(&["launch"]);
    assert!(
        said.contains("best.pt") && said.contains("verified by hash"),
        "{said}"
    );
    assert!(world.boxes().is_empty(), "the box is destroyed");
    let run = world.status("shapes");
    assert_eq!(run["outcome"], "completed");
    assert_eq!(run["training"]["epoch"], 2);
    for name in [
        "best.pt",
        "last.pt",
        "epoch_1.pt",
        "results.csv",
        "summary.json",
        "train_config.yaml",
    ] {
        assert!(
            world.path("out/shapes").join(name).is_file(),
            "{name} was not pushed"
        );
    }
    assert!(
        world
            .ok(&["logs", "shapes"])
            .to_lowercase()
            .contains("epoch")
    );
    let pulled = world.json(&["pull", "shapes", "here"]);
    assert!(
        pulled["files"]
            .as_array()
            .is_some_and(|files| files.len() >= 6),
        "{pulled}"
    );
}

#[test]
fn a_trainer_killed_in_its_second_epoch_goes_on_in_its_second_epoch() {
    if !has_trainer("kill -9 and resume of the real trainer") {
        return;
    }
    let world = World::new();
    draw(&world);
    job(&world, 60);
    world.ok(&["launch", "--detach"]);
    let seen = world.until("shapes", "a verified checkpoint", |run| {
        run["training"]["epoch"].as_u64() >= Some(1) && !run["verified"].is_null()
    });
    kill(world.training_pid());
    let run = world.until("shapes", "killed", |run| {
        run["training"]["state"] == "killed"
    });
    assert!(!run["verified"].is_null(), "{run}");
    let before = seen["training"]["epoch"].as_u64().expect("an epoch");

    world.ok(&["start", "shapes"]);
    let run = world.until("shapes", "further than before", |run| {
        run["training"]["state"] == "running" && run["training"]["epoch"].as_u64() > Some(before)
    });
    assert_eq!(run["training"]["attempt"], 2);
    let history =
        std::fs::read_to_string(world.home().join("runs/shapes/metrics.jsonl")).expect("a history");
    let epochs: Vec<u64> = history
        .lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok()?["epoch"].as_u64())
        .collect();
    let counted: Vec<u64> = (1..=epochs.len() as u64).collect();
    assert_eq!(epochs, counted, "every epoch once");
    world.ok(&["destroy", "shapes", "--force", "--yes"]);
}
