//! The main job on a rented box, on the vendor's own wire.

use crate::rented::{Rented, rented, rented_at};
use crate::world::{eventually, kill, text};
use gpurun_clouds::lambda::Lambda;
use gpurun_clouds::runpod::RunPod;
use gpurun_clouds::verda::Verda;
use gpurun_clouds::{Armed, Fault, Operation};
use gpurun_dataset::shapes::{ShapesConfig, generate};

#[test]
fn a_training_on_a_rented_box_is_launched_followed_pulled_and_paid_for() {
    let Some(rented) = rented() else { return };
    let world = &rented.world;
    let config = ShapesConfig {
        train: 4,
        val: 2,
        size: 32,
        seed: 1,
    };
    generate(&world.path("shapes"), config).expect("a drawn data set");
    let data = world.path("shapes").display().to_string();
    let launched = rented.launch(&["--data", &data]);
    assert!(launched.status.success(), "{}", text(&launched));
    assert_eq!(rented.living(), 1);

    // The person's own way in: the box is another machine, with its own home and its one GPU.
    let ssh = world.ok(&[
        "ssh",
        "cells",
        "--",
        "pwd; nvidia-smi -L; ls gpurun/bin; find . -name data.yaml",
    ]);
    assert!(
        ssh.contains("RTX 4090") && ssh.contains("gpurun\n"),
        "{ssh}"
    );
    assert!(ssh.contains("data.yaml"), "{ssh}");
    world.let_epochs_pass(3);
    let waited = world.run(&["wait", "cells"]);
    assert!(waited.status.success(), "{}", text(&waited));
    let run = world.status("cells");
    assert_eq!(
        (&run["outcome"], &run["phase"]),
        (&"completed".into(), &"ended".into())
    );
    world.ok(&["pull", "cells", "here"]);
    assert!(world.path("here/best.pt").is_file());
    assert_eq!(rented.living(), 0, "the box is destroyed");
    assert!(
        !world
            .path("state/ssh")
            .read_dir()
            .is_ok_and(|mut keys| keys.next().is_some())
    );
    assert!(world.ok(&["orphans"]).contains("no orphans"));
    rented.pays_what_is_billed("cells");
}

#[test]
fn killed_between_the_order_and_the_boxs_id_there_is_one_box_and_it_is_adopted() {
    let Some(rented) = rented() else { return };
    let world = &rented.world;
    let slow = Armed::once(Fault::Latency { ms: 60_000 });
    rented.cloud.arm(slow.on(Operation::Create));
    let words = rented.launch_words(&[]);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let mut launch = world.spawn(&words);
    eventually("the box is made", || (rented.living() == 1).then_some(()));
    kill(i32::try_from(launch.id()).expect("a pid"));
    launch.wait().expect("it was ours");
    assert_eq!(world.status("cells")["instance"], serde_json::Value::Null);

    world.let_epochs_pass(3);
    let waited = world.run(&["wait", "cells"]);
    assert!(waited.status.success(), "{}", text(&waited));
    assert_eq!(world.status("cells")["outcome"], "completed");
    assert_eq!(rented.cloud.count(Operation::Create), 1);
    assert_eq!((rented.living(), rented.cloud.state().boxes.len()), (0, 1));
    rented.pays_what_is_billed("cells");
}

#[test]
fn an_offer_that_is_gone_and_a_box_that_lets_nobody_in_are_passed_over() {
    let Some(rented) = rented() else { return };
    let world = &rented.world;
    // The first offer is gone. Then a box runs whose sshd refuses everybody, then one that lacks its GPU.
    rented.cloud.arm(Fault::OfferGone);
    for (fault, skip) in [(Fault::SshRefused, 1), (Fault::GpuMissing, 2)] {
        rented.cloud.arm(Armed {
            skip,
            ..Armed::once(fault)
        });
    }
    let launched = rented.launch(&["--boot-deadline", "3s", "--accept-price"]);
    let said = text(&launched);
    assert!(launched.status.success(), "{said}");
    assert!(
        said.contains("did not come up") && said.contains(" lost on it"),
        "{said}"
    );
    assert!(said.contains("came up without GPUs"), "{said}");
    assert_eq!((rented.living(), rented.cloud.state().boxes.len()), (1, 3));

    world.ok(&["destroy", "cells", "--force", "--yes"]);
    assert_eq!(rented.living(), 0);
    rented.pays_what_is_billed("cells");
    // Both machines are remembered, and the one whose offer was only gone is not.
    let plan = world.json(&["launch", "-n", "--gpu", "4090x1", "--command", "true"]);
    let notes = plan["notes"].to_string();
    assert_eq!(notes.matches("is left out").count(), 2, "{notes}");
    assert!(
        notes.contains("without GPUs") && notes.contains("never came up"),
        "{notes}"
    );
}

#[test]
fn a_box_that_lacks_the_key_gets_it_and_one_that_costs_more_than_agreed_goes_back() {
    let Some(rented) = rented() else { return };
    let world = &rented.world;
    rented.cloud.arm(Fault::PriceChange { percent: 20 });
    let launched = rented.launch(&[]);
    let said = text(&launched);
    assert_eq!(launched.status.code(), Some(6), "{said}");
    assert!(said.contains("is the most that was agreed to"), "{said}");
    assert_eq!((rented.living(), rented.cloud.state().boxes.len()), (0, 1));
    rented.pays_what_is_billed("cells");

    // The vendor takes the key in a call of its own, after the box is there.
    let refused = Armed::once(Fault::ErrorBeforeCommit { status: 500 });
    rented.cloud.arm(refused.on(Operation::Keys));
    let launched = rented.launch(&[]);
    let said = text(&launched);
    assert!(launched.status.success(), "{said}");
    assert!(said.contains("bring the key to the box"), "{said}");
    assert_eq!((rented.living(), rented.cloud.state().boxes.len()), (1, 2));
    world.ok(&["destroy", "cells", "--force", "--yes"]);
    assert_eq!(rented.living(), 0);
}

#[test]
fn a_volume_is_made_mounted_shown_wherever_money_is_and_deleted() {
    let Some(rented) = rented() else { return };
    let world = &rented.world;
    let plan = world.json(&["launch", "-n", "--gpu", "4090x1", "--command", "true"]);
    let host = plan["plan"]["actions"][0]["offer"]["host"].clone();
    let host = host.as_str().expect("its host");
    let make = [
        "--yes",
        "--provider",
        "vast",
        "--size",
        "20",
        "--place",
        host,
    ];
    let made = world.json(&[&["volumes", "create", "sets"][..], &make].concat());
    let id = made["volumes"][0]["id"]
        .as_str()
        .expect("its id")
        .to_owned();
    assert!(
        made["volumes"][0]["burn_per_hour"].as_f64() > Some(0.0),
        "{made}"
    );
    assert!(
        world
            .ok(&["orphans"])
            .contains(&format!("idle volume vast {id}"))
    );
    assert!(world.ok(&["status"]).contains(&format!("vast {id}")));

    let launched = rented.launch(&["--volume", &format!("{id}:/root/sets")]);
    assert!(launched.status.success(), "{}", text(&launched));
    world.ok(&["ssh", "cells", "--", "echo kept > sets/kept"]);
    assert!(!world.ok(&["orphans"]).contains("idle volume"));
    assert!(
        world
            .ok(&["cost", "cells"])
            .contains(&format!("volume {id} at /root/sets"))
    );
    world.ok(&["destroy", "cells", "--force", "--yes"]);
    let left = world.json(&["volumes"]);
    assert_eq!(left["volumes"][0]["id"], id.as_str(), "it outlives the box");
    let gone = world.json(&["volumes", "delete", &id, "--provider", "vast", "--yes"]);
    assert_eq!(gone["volumes"], serde_json::json!([]));
}

#[test]
fn a_look_at_a_training_brings_its_checkpoints_here() {
    let Some(rented) = rented() else { return };
    let world = &rented.world;
    let launched = rented.launch(&[]);
    assert!(launched.status.success(), "{}", text(&launched));
    world.let_epochs_pass(2);
    // Verified on the box is not verified: the box may be gone in a minute.
    let waiting = eventually("the box holds epoch 2 ready", || {
        let reaped = world.json(&["reap"]);
        let done = reaped["runs"][0]["done"].to_string();
        done.contains("\"fetch\"").then_some(done)
    });
    assert!(waiting.contains("\"done\""), "{waiting}");
    let run = world.until("cells", "epoch 2 is verified", |run| {
        world.ok(&["reap"]);
        run["verified"]["epoch"] == 2
    });
    let here = run["verified"]["location"].as_str().expect("its place");
    assert!(
        std::path::Path::new(here).starts_with(world.path("out")),
        "{here}"
    );
    assert!(std::path::Path::new(here).is_file(), "{here}");
    assert_eq!(run["training"]["state"], "running");
    world.ok(&["destroy", "cells", "--force", "--yes"]);
    assert_eq!(rented.living(), 0);
}

fn runs_to_its_end(rented: Option<Rented>) {
    let Some(rented) = rented else { return };
    rented.world.let_epochs_pass(3);
    let launched = rented.launch(&[]);
    assert!(launched.status.success(), "{}", text(&launched));
    let waited = rented.world.run(&["wait", "cells"]);
    assert!(waited.status.success(), "{}", text(&waited));
    assert_eq!(rented.world.status("cells")["outcome"], "completed");
    assert!(rented.world.path("out/cells/best.pt").is_file());
    assert_eq!(rented.living(), 0);
    rented.pays_what_is_billed("cells");
}

#[test]
fn the_same_job_runs_at_lambda() {
    let names = ["LAMBDA_CLOUD_BASE_URL", "LAMBDA_API_KEY"];
    runs_to_its_end(rented_at(Lambda::start, names, "a10x1"));
}

#[test]
fn the_same_job_runs_at_runpod() {
    let names = ["RUNPOD_API_URL", "RUNPOD_API_KEY"];
    runs_to_its_end(rented_at(RunPod::start, names, "4090x1"));
}

#[test]
fn the_same_job_runs_at_verda() {
    let names = ["VERDA_BASE_URL", "VERDA_CLIENT_SECRET"];
    let mut rented = rented_at(Verda::start, names, "h100x1");
    if let Some(rented) = &mut rented {
        let id = gpurun_clouds::verda::CLIENT_ID;
        rented.world.set("VERDA_CLIENT_ID", id);
    }
    runs_to_its_end(rented);
}

#[test]
fn a_price_that_rises_between_the_offer_and_the_order_is_not_paid() {
    let Some(rented) = rented() else { return };
    // The offers come late: by then they are old.
    let late = Armed::once(Fault::Latency { ms: 3_000 });
    rented.cloud.arm(late.on(Operation::Search));
    let words = rented.launch_words(&[]);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let launch = rented.world.spawn(&words);
    eventually("the offers are asked for", || {
        (rented.cloud.count(Operation::Search) == 1).then_some(())
    });
    rented.cloud.with(|world| world.raise_prices(20));
    let launch = launch.wait_with_output().expect("it was ours");
    let said = text(&launch);
    assert_eq!(launch.status.code(), Some(6), "{said}");
    assert!(said.contains("--accept-price takes it"), "{said}");
    assert_eq!(rented.cloud.count(Operation::Create), 0);
}

#[test]
fn a_run_whose_box_is_gone_goes_on_on_one_that_is_let_today() {
    let Some(rented) = rented() else { return };
    let world = &rented.world;
    let launched = rented.launch(&[]);
    assert!(launched.status.success(), "{}", text(&launched));
    world.let_epochs_pass(1);
    world.until("cells", "epoch 1 is here", |run| {
        world.ok(&["reap"]);
        run["verified"]["epoch"] == 1
    });
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

    // Nothing is let any more that costs what was agreed to.
    rented.cloud.with(|world| world.raise_prices(50));
    let refused = world.fails(5, &["start", "cells"]);
    assert!(refused.contains("or less"), "{refused}");
    assert_eq!(world.status("cells")["phase"], "ended");
    assert_eq!(rented.cloud.count(Operation::Create), 2);
}
