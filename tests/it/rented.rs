//! Simulated clouds whose boxes have an sshd of their own, and a world that rents there.

use crate::world::World;
use gpurun_clouds::boxes::BoxKind;
use gpurun_clouds::vast::Vast;
use gpurun_clouds::{ClockKind, Cloud, Phase, SimConfig, SimError};
use rust_decimal::Decimal;
use std::process::Output;

/// A marketplace, and a world that has its key.
pub(crate) struct Rented {
    pub(crate) world: World,
    pub(crate) cloud: Cloud,
    gpu: &'static str,
}

/// `None`, said aloud, where this machine can't run boxes.
pub(crate) fn rented() -> Option<Rented> {
    rented_at(Vast::start, ["VAST_URL", "VAST_API_KEY"], "4090x1")
}

/// The same at another vendor: how it is started, the variables of its address and its key, and a GPU it has.
pub(crate) fn rented_at(
    start: impl FnOnce(SimConfig) -> Result<Cloud, SimError>,
    [url, key]: [&str; 2],
    gpu: &'static str,
) -> Option<Rented> {
    let config = SimConfig {
        clock: ClockKind::Real,
        boxes: BoxKind::Plain,
        linger: std::time::Duration::from_secs(2),
        // Dear boxes, billed by ten minutes: no test ends for want of money that doesn't mean to.
        credit: Decimal::from(100_000),
        ..SimConfig::default()
    };
    let cloud = match start(config) {
        Ok(cloud) => cloud,
        Err(error) => {
            skip(&error);
            return None;
        }
    };
    let mut world = World::new();
    world.set(url, cloud.url());
    world.set(key, cloud.key());
    world.set("GPURUN_RATE_LIMITS", "off");
    Some(Rented { world, cloud, gpu })
}

#[expect(clippy::print_stderr, reason = "a test that can't run says so")]
fn skip(error: &SimError) {
    eprintln!("skipped: {error}");
}

impl Rented {
    /// Launches the small training of three epochs, with these words besides.
    pub(crate) fn launch(&self, more: &[&str]) -> Output {
        let words = self.launch_words(more);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        self.world.run(&words)
    }

    pub(crate) fn launch_words(&self, more: &[&str]) -> Vec<String> {
        let mut words = self.world.launch_arguments("cells", 3);
        for word in &mut words {
            if word == "cpu" {
                self.gpu.clone_into(word);
            }
        }
        words.push("--yes".to_owned());
        words.extend(more.iter().map(|word| (*word).to_owned()));
        words
    }

    /// Boxes that cost something.
    pub(crate) fn living(&self) -> usize {
        let state = self.cloud.state();
        let costs =
            |phase: &Phase| !matches!(phase, Phase::Gone | Phase::Ending { billed: false, .. });
        state.boxes.iter().filter(|one| costs(&one.phase)).count()
    }

    pub(crate) fn pays_what_is_billed(&self, run: &str) {
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
