//! The clouds' keys: gpurun reads them from its environment, and nothing it starts, sends, says or writes has them.

use crate::world::{World, text};
use gpurun_clouds::boxes::BoxKind;
use gpurun_clouds::lambda::Lambda;
use gpurun_clouds::runpod::RunPod;
use gpurun_clouds::vast::Vast;
use gpurun_clouds::verda::Verda;
use gpurun_clouds::{ClockKind, Cloud, Relay, SimConfig, SimError};
use std::path::Path;
use std::process::Output;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

struct Market {
    cloud: Cloud,
    relay: Relay,
}

/// All that a person could see of a world with three marketplaces.
struct Watched {
    world: World,
    markets: Vec<Market>,
    said: String,
}

type Start = fn(SimConfig) -> Result<Cloud, SimError>;

impl Watched {
    /// `None`, said aloud, where this machine can't run boxes.
    fn new() -> Option<Self> {
        let mut world = World::new();
        world.set("GPURUN_RATE_LIMITS", "off");
        let mut markets = Vec::new();
        for (start, boxes, key, names) in [
            (
                Vast::start as Start,
                BoxKind::Plain,
                "vast",
                ["VAST_URL", "VAST_API_KEY"],
            ),
            (
                RunPod::start,
                BoxKind::None,
                "runpod",
                ["RUNPOD_API_URL", "RUNPOD_API_KEY"],
            ),
            (
                Lambda::start,
                BoxKind::None,
                "lambda",
                ["LAMBDA_CLOUD_BASE_URL", "LAMBDA_API_KEY"],
            ),
            (
                Verda::start,
                BoxKind::None,
                "verda",
                ["VERDA_BASE_URL", "VERDA_CLIENT_SECRET"],
            ),
        ] {
            let config = SimConfig {
                clock: ClockKind::Real,
                key: format!("the-{key}-account's-key"),
                boxes,
                linger: Duration::ZERO,
                ..SimConfig::default()
            };
            let cloud = start(config).map_err(|error| skip(&error)).ok()?;
            let relay = Relay::to(&cloud).expect("a free port");
            world.set(names[0], &relay.url());
            world.set(names[1], cloud.key());
            markets.push(Market { cloud, relay });
        }
        world.set("RUNPOD_API_BASE_URL", &markets[1].relay.url());
        world.set("VERDA_CLIENT_ID", gpurun_clouds::verda::CLIENT_ID);
        Some(Self {
            world,
            markets,
            said: String::new(),
        })
    }

    fn run(&mut self, arguments: &[&str]) -> Output {
        let output = self.world.run(&[&["--verbose"], arguments].concat());
        self.said += &format!("$ gpurun {}\n{}\n", arguments.join(" "), text(&output));
        output
    }

    fn ok(&mut self, arguments: &[&str]) {
        let output = self.run(arguments);
        assert!(output.status.success(), "{arguments:?}: {}", text(&output));
    }

    fn launch(&mut self, provider: &str, gpu: &str, more: &[&str]) -> Output {
        let mut words = self.world.launch_arguments(provider, 1);
        for word in &mut words {
            if word == "cpu" {
                gpu.clone_into(word);
            }
        }
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        self.run(&[&words[..], &["--yes", "--provider", provider], more].concat())
    }

    fn keys(&self) -> impl Iterator<Item = &str> {
        self.markets.iter().map(|market| market.cloud.key())
    }

    fn assert_without_keys(&self, what: &str, bytes: &[u8]) {
        for key in self.keys() {
            let mut windows = bytes.windows(key.len());
            assert!(
                !windows.any(|window| window == key.as_bytes()),
                "{key} is in {what}"
            );
        }
    }
}

#[expect(clippy::print_stderr, reason = "a test that can't run says so")]
fn skip(error: &SimError) {
    eprintln!("skipped: {error}");
}

/// The arguments of every process of this machine, as often as they can be read, until it is over.
fn arguments_with(keys: &[String], is_over: &AtomicBool) -> (Vec<String>, bool) {
    let (mut found, mut has_seen_gpurun) = (Vec::new(), false);
    while !is_over.load(Ordering::Relaxed) {
        for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
            let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
            let line = String::from_utf8_lossy(&line).replace('\0', " ");
            has_seen_gpurun |= line.contains(env!("CARGO_BIN_EXE_gpurun"));
            if keys.iter().any(|key| line.contains(key)) {
                found.push(line);
            }
        }
        thread::sleep(Duration::from_millis(5));
    }
    (found, has_seen_gpurun)
}

/// Every file below.
fn files(folder: &Path, found: &mut Vec<std::path::PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => files(&entry.path(), found),
            Ok(kind) if kind.is_file() => found.push(entry.path()),
            _ => {}
        }
    }
}

/// The life of a run on a cloud whose boxes let us in, its box's home looked at while it is there.
fn live(watched: &mut Watched) {
    for verb in [
        &["providers"][..],
        &["offers", "--gpu", "4090x1", "--explain"],
    ] {
        watched.ok(verb);
    }
    let launched = watched.launch("vast", "4090x1", &[]);
    assert!(launched.status.success(), "{}", text(&launched));
    watched.ok(&[
        "ssh",
        "vast",
        "--",
        "env; cat gpurun/*.json gpurun/*.log || true",
    ]);
    let home = watched.run(&["ssh", "vast", "--", "pwd"]);
    let home = String::from_utf8(home.stdout).expect("a path");
    let mut on_the_box = Vec::new();
    files(Path::new(home.trim()), &mut on_the_box);
    assert!(!on_the_box.is_empty(), "nothing in {home}");
    for file in on_the_box {
        let bytes = std::fs::read(&file).unwrap_or_default();
        watched.assert_without_keys(&file.display().to_string(), &bytes);
    }
    watched.world.let_epochs_pass(1);
    watched.ok(&["wait", "vast"]);
    for verb in ["status", "cost", "logs", "explain"] {
        watched.ok(&[verb, "vast"]);
    }
    watched.ok(&["reap"]);
}

/// Where nobody gets in, a box is rented, waited for and given back.
fn die_young(watched: &mut Watched, provider: &str, gpu: &str) {
    let launched = watched.launch(provider, gpu, &["--boot-deadline", "1s"]);
    assert!(!launched.status.success(), "{}", text(&launched));
    watched.run(&["destroy", provider, "--force", "--yes"]);
    watched.run(&["--json", "status", provider]);
    watched.run(&["--json", "reap"]);
    watched.ok(&["orphans"]);
}

#[test]
fn no_key_is_in_arguments_requests_output_or_files() {
    let Some(mut watched) = Watched::new() else {
        return;
    };
    let keys: Vec<String> = watched.keys().map(str::to_owned).collect();
    let is_over = AtomicBool::new(false);
    let (found, has_seen_gpurun) = thread::scope(|scope| {
        let looking = scope.spawn(|| arguments_with(&keys, &is_over));
        let lived = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            live(&mut watched);
            die_young(&mut watched, "runpod", "4090x1");
            die_young(&mut watched, "lambda", "a10x1");
            die_young(&mut watched, "verda", "h100x1");
        }));
        is_over.store(true, Ordering::Relaxed);
        let looked = looking.join().expect("it only looks");
        if let Err(panic) = lived {
            std::panic::resume_unwind(panic);
        }
        looked
    });
    assert!(has_seen_gpurun, "no process was seen");
    assert!(found.is_empty(), "{found:?}");
    watched.assert_without_keys("the output", watched.said.as_bytes());

    let mut written = Vec::new();
    files(&watched.world.path("."), &mut written);
    let is_ledger = |path: &std::path::PathBuf| path.ends_with("state/ledger.db");
    assert!(written.iter().any(is_ledger), "no ledger: {written:?}");
    for file in written {
        let bytes = std::fs::read(&file).expect("readable");
        watched.assert_without_keys(&file.display().to_string(), &bytes);
    }
    for market in &watched.markets {
        let key = market.cloud.key();
        assert!(
            !market.cloud.state().boxes.is_empty(),
            "{key}: nothing rented"
        );
        let living = |it: &&gpurun_clouds::RentalState| it.phase.is_alive();
        assert_eq!(market.cloud.state().boxes.iter().filter(living).count(), 0);
        let heard = market.relay.heard().join("\n");
        let (allowed, rest): (Vec<&str>, Vec<&str>) = heard.lines().partition(|line| {
            line.to_ascii_lowercase().starts_with("authorization: ")
                    // Where the key's two parts buy a token.
                    || line.contains("\"grant_type\":")
        });
        assert!(!allowed.is_empty(), "{key} was never sent");
        watched.assert_without_keys("a request", rest.join("\n").as_bytes());
    }
}
