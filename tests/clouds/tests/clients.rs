//! The vendors' own clients do their whole round on the simulators: what they print, what they sent and what the world
//! became must agree. Their environment is made by `cargo xtask test`; elsewhere these tests say that they are skipped.

use std::path::PathBuf;
use std::process::{Command, Output};

use gpurun_clouds::lambda::Lambda;
use gpurun_clouds::vast::Vast;
use gpurun_clouds::{Armed, Cloud, Fault, Operation, Phase, SimConfig, TooMany};
use serde_json::{Value, json};

const PUBLIC_KEY: &str =
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIEIGZ9oOnPJXbyr0iYRFuWHzQZh4ztU0qY8f3bVgYpCD test";

/// A program of a vendor's client; `None`, said aloud, where there is none.
fn client(vendor: &str, name: &str) -> Option<PathBuf> {
    let clients = std::env::var_os("GPURUN_CLIENTS").map(PathBuf::from);
    let workspace = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let clients = clients.unwrap_or_else(|| workspace.join(".venv/clients"));
    let program = clients.join(vendor).join("bin").join(name);
    if !program.exists() {
        skip(name);
        return None;
    }
    Some(program)
}

#[expect(clippy::print_stderr, reason = "a test that can't run says so")]
fn skip(name: &str) {
    eprintln!(
        "skipped: no {name}; `cargo xtask test` makes its environment, GPURUN_CLIENTS names another"
    );
}

/// A vendor's client, with a home of its own.
struct Client<'a> {
    program: PathBuf,
    home: tempfile::TempDir,
    cloud: &'a Cloud,
}

impl<'a> Client<'a> {
    fn new(program: PathBuf, cloud: &'a Cloud) -> Self {
        Self {
            program,
            home: tempfile::tempdir().expect("a temporary folder"),
            cloud,
        }
    }

    fn output(&self, arguments: &[&str]) -> Output {
        Command::new(&self.program)
            .args(arguments)
            .env("HOME", self.home.path())
            .env("VAST_URL", self.cloud.url())
            .env("VAST_API_KEY", self.cloud.key())
            .env("LAMBDA_CLOUD_BASE_URL", self.cloud.url())
            .env("LAMBDA_CLOUD_TOKEN", self.cloud.key())
            .env_remove("XDG_CONFIG_HOME")
            .output()
            .expect("the client starts")
    }

    fn says(&self, arguments: &[&str]) -> String {
        let output = self.output(arguments);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {text}{error}");
        assert!(!error.contains("Traceback"), "{arguments:?}: {error}");
        text
    }

    fn json(&self, arguments: &[&str]) -> Value {
        let text = self.says(arguments);
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{arguments:?}: {error}: {text}"))
    }
}

fn phase(cloud: &Cloud) -> Phase {
    cloud.state().boxes[0].phase.clone()
}

#[test]
fn vastai_does_its_whole_round() {
    let Some(program) = client("vast", "vastai") else {
        return;
    };
    let cloud = Vast::start(SimConfig::default()).unwrap();
    let vastai = Client::new(program, &cloud);

    let query = "gpu_name=RTX_4090 num_gpus=8 gpu_ram<30 reliability>0.98 geolocation in [SE,NO]";
    let offers = vastai.json(&[
        "search",
        "offers",
        query,
        "-o",
        "dph_total",
        "--storage",
        "72",
        "--raw",
    ]);
    let found: Vec<_> = offers
        .as_array()
        .unwrap()
        .iter()
        .map(|offer| offer["id"].clone())
        .collect();
    assert_eq!(found, [json!(4_000_108), json!(4_000_208)]);
    assert_eq!(offers[0]["dph_total"], 2.815);

    vastai.says(&["create", "ssh-key", PUBLIC_KEY]);
    assert_eq!(cloud.with(|world| world.keys[0].line.clone()), PUBLIC_KEY);
    let created = vastai.json(&[
        "create",
        "instance",
        "4000108",
        "--image",
        "pytorch/pytorch:2.4.0",
        "--disk",
        "72",
        "--label",
        "gpurun-1",
        "--env",
        "-e JOB=j1",
        "--ssh",
        "--direct",
        "--cancel-unavail",
        "--raw",
    ]);
    let id = created["new_contract"].to_string();
    let state = cloud.state();
    assert_eq!(
        (state.boxes[0].id.as_str(), state.boxes[0].gpus),
        (id.as_str(), 8)
    );
    assert_eq!(state.boxes[0].label.as_deref(), Some("gpurun-1"));

    let shown = vastai.json(&["show", "instance", &id, "--raw"]);
    assert_eq!(
        (&shown["actual_status"], &shown["num_gpus"]),
        (&json!("running"), &json!(8))
    );
    // The client makes an object of the list of pairs, which it needs.
    assert_eq!(shown["extra_env"], json!({"JOB": "j1"}));
    assert_eq!(
        vastai.says(&["ssh-url", &id]).trim(),
        "ssh://root@127.0.0.1:1"
    );
    assert!(vastai.says(&["logs", &id]).contains("created"));
    vastai.says(&["label", "instance", &id, "gpurun-2"]);

    vastai.says(&["stop", "instance", &id]);
    assert!(matches!(phase(&cloud), Phase::Stopped { .. }));
    vastai.says(&["start", "instance", &id]);
    assert_eq!(phase(&cloud), Phase::Running);
    let listed = vastai.json(&["show", "instances", "--raw"]);
    assert_eq!(listed[0]["label"], "gpurun-2");
    assert!(vastai.says(&["show", "user", "--raw"]).contains("credit"));
    let disks = vastai.json(&["search", "volumes", "machine_id=40001", "--raw"]);
    let disk = disks[0]["id"].to_string();
    vastai.says(&["create", "volume", &disk, "-s", "20", "-n", "runs"]);
    let volumes = vastai.json(&["show", "volumes", "--raw"]);
    assert_eq!(
        (&volumes[0]["label"], &volumes[0]["disk_space"]),
        (&json!("runs"), &json!(20.0))
    );
    vastai.says(&["delete", "volume", &volumes[0]["id"].to_string()]);
    assert!(cloud.state().volumes[0].deleted_at.is_some());
    vastai.says(&["destroy", "instance", &id, "-y"]);
    assert_eq!(phase(&cloud), Phase::Gone);
    assert_eq!(vastai.json(&["show", "instances", "--raw"]), json!([]));

    let operations: Vec<_> = cloud
        .requests()
        .iter()
        .map(|request| request.operation)
        .filter(is_change)
        .collect();
    assert_eq!(
        operations,
        [
            Operation::Create,
            Operation::Manage,
            Operation::Manage,
            Operation::Stop,
            Operation::Start,
            Operation::Destroy
        ]
    );
}

fn is_change(operation: &Operation) -> bool {
    use Operation::{Create, Destroy, Manage, Start, Stop};
    matches!(operation, Create | Manage | Start | Stop | Destroy)
}

#[test]
fn vastai_understands_our_refusals() {
    let Some(program) = client("vast", "vastai") else {
        return;
    };
    let cloud = Vast::start(SimConfig::default()).unwrap();
    let vastai = Client::new(program, &cloud);
    let create = [
        "create", "instance", "4000101", "--image", "x", "--disk", "10", "--raw",
    ];
    let said = |arguments: &[&str]| {
        let output = vastai.output(arguments);
        String::from_utf8_lossy(&output.stdout).into_owned()
            + &String::from_utf8_lossy(&output.stderr)
    };
    cloud.arm(Fault::OfferGone);
    cloud.with(|world| world.machines[0].free = 0);
    let gone = said(&[
        "create",
        "instance",
        "4000101",
        "--image",
        "x",
        "--disk",
        "10",
        "--cancel-unavail",
    ]);
    assert!(gone.contains("no longer available"), "{gone}");
    cloud.with(|world| world.machines[0].free = 8);
    assert!(said(&["create", "instance", "7", "--image", "x"]).contains("no_such_ask"));
    // It retries a 429 by itself, and so rents once.
    cloud.arm(
        Armed::once(Fault::TooManyRequests {
            form: TooMany::Text,
        })
        .on(Operation::Create),
    );
    said(&create);
    assert_eq!(cloud.state().alive().len(), 1);
    // And a lost reply too, and so rents twice: what our adapter must never do.
    cloud.arm(Fault::DropAfterCommit);
    said(&create);
    assert_eq!(cloud.state().alive().len(), 3);
    cloud.arm(Fault::AuthExpired);
    assert!(said(&["show", "user"]).contains("Invalid user key"));
}

#[test]
fn lai_does_its_whole_round() {
    let Some(program) = client("lambda", "lai") else {
        return;
    };
    let cloud = Lambda::start(SimConfig::default()).unwrap();
    let lai = Client::new(program, &cloud);
    let key = json!({"name": "laptop", "public_key": PUBLIC_KEY});
    cloud.ask("POST", "/api/v1/ssh-keys", &key).unwrap();

    let types = lai.json(&["types", "--available", "--gpu", "H100", "--json"]);
    assert!(types.to_string().contains("gpu_8x_h100_sxm5"), "{types}");
    assert!(lai.says(&["keys", "--json"]).contains("laptop"));
    lai.says(&[
        "start",
        "--instance-type",
        "gpu_1x_a10",
        "--region",
        "us-east-1",
        "--ssh-key",
        "laptop",
        "--name",
        "gpurun-1",
        "--tag",
        "gpurun=1",
    ]);
    let state = cloud.state();
    assert_eq!(state.alive().len(), 1);
    assert_eq!(state.boxes[0].label.as_deref(), Some("gpurun-1"));
    let id = state.boxes[0].id.clone();
    let listed = lai.json(&["ls", "--json"]).to_string();
    assert!(
        listed.contains(&id) && listed.contains("active"),
        "{listed}"
    );
    lai.says(&["restart", &id]);
    lai.says(&["stop", &id]);
    assert!(matches!(phase(&cloud), Phase::Ending { billed: false, .. }));
    assert_eq!(cloud.count(Operation::Create), 1);
    assert_eq!(cloud.count(Operation::Destroy), 1);
}
