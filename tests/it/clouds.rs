//! The main job on a rented box: a simulated Vast.ai on the vendor's own wire, whose boxes have an sshd of their own.

use crate::world::{World, text};
use gpurun_clouds::boxes::BoxKind;
use gpurun_clouds::vast::Vast;
use gpurun_clouds::{ClockKind, Cloud, Phase, SimConfig};
use gpurun_dataset::shapes::{ShapesConfig, generate};
use rust_decimal::Decimal;
use std::process::Output;

/// A marketplace, and a world that has its key.
struct Rented {
    world: World,
    cloud: Cloud,
}

/// `None`, said aloud, where this machine can't run boxes.
fn rented() -> Option<Rented> {
    let config = SimConfig {
        clock: ClockKind::Real,
        boxes: BoxKind::Plain,
        ..SimConfig::default()
    };
    let cloud = match Vast::start(config) {
        Ok(cloud) => cloud,
        Err(error) => {
            skip(&error);
            return None;
        }
    };
    let mut world = World::new();
    world.set("VAST_URL", cloud.url());
    world.set("VAST_API_KEY", cloud.key());
    Some(Rented { world, cloud })
}

#[expect(clippy::print_stderr, reason = "a test that can't run says so")]
fn skip(error: &gpurun_clouds::SimError) {
    eprintln!("skipped: {error}");
}

impl Rented {
    /// Launches the small training of three epochs, with these words besides.
    fn launch(&self, more: &[&str]) -> Output {
        let launch = self.world.launch_arguments("cells", 3);
        let mut words: Vec<&str> = launch.iter().map(String::as_str).collect();
        let gpu = words
            .iter()
            .position(|word| *word == "cpu")
            .expect("its GPU");
        words[gpu] = "4090x1";
        words.push("--yes");
        words.extend(more);
        self.world.run(&words)
    }

    /// Boxes that cost something.
    fn living(&self) -> usize {
        let state = self.cloud.state();
        let living = state.boxes.iter().filter(|one| one.phase != Phase::Gone);
        living.count()
    }

    fn pays_what_is_billed(&self, run: &str) {
        let ours = self.world.status(run)["so_far"].clone();
        let ours: Decimal = ours.to_string().parse().expect("a number");
        let theirs = self.cloud.state().bill;
        assert_eq!(
            ours.round_dp(2),
            theirs.round_dp(2),
            "ours {ours}, theirs {theirs}"
        );
    }
}

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
    assert!(world.ok(&["orphans"]).contains("no orphans"));
    rented.pays_what_is_billed("cells");
}
