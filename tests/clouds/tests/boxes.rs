//! Boxes are real: a client logs in, work survives its login, a stop ends it, files stay.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use gpurun_clouds::boxes::BoxKind;
use gpurun_clouds::lambda::Lambda;
use gpurun_clouds::vast::Vast;
use gpurun_clouds::{Cloud, Fault, SimConfig};
use serde_json::{Value, json};

/// `None`, said aloud, where this machine can't run boxes.
fn cloud(boxes: BoxKind) -> Option<Cloud> {
    let config = SimConfig {
        boxes,
        ..SimConfig::default()
    };
    match Vast::start(config) {
        Ok(cloud) => Some(cloud),
        Err(error) => {
            skip(&error);
            None
        }
    }
}

#[expect(clippy::print_stderr, reason = "a test that can't run says so")]
fn skip(error: &gpurun_clouds::SimError) {
    eprintln!("skipped: {error}");
}

struct Client {
    folder: tempfile::TempDir,
    key: PathBuf,
}

impl Client {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let key = folder.path().join("key");
        let made = Command::new("ssh-keygen")
            .args(["-q", "-t", "ed25519", "-N", "", "-f"])
            .arg(&key)
            .status();
        assert!(made.expect("ssh-keygen starts").success());
        Self { folder, key }
    }

    fn public(&self) -> String {
        std::fs::read_to_string(self.key.with_extension("pub")).expect("ssh-keygen wrote it")
    }

    fn run(&self, address: &str, script: &str) -> Output {
        self.run_as("root", address, script)
    }

    fn run_as(&self, user: &str, address: &str, script: &str) -> Output {
        let (host, port) = address.rsplit_once(':').expect("host:port");
        let known = self.folder.path().join("known_hosts");
        Command::new("ssh")
            .args([
                "-F",
                "none",
                "-o",
                "BatchMode=yes",
                "-o",
                "StrictHostKeyChecking=accept-new",
            ])
            .arg("-o")
            .arg(format!("UserKnownHostsFile={}", known.display()))
            .arg("-i")
            .arg(&self.key)
            .args(["-p", port, &format!("{user}@{host}"), script])
            .output()
            .expect("ssh starts")
    }

    fn says(&self, address: &str, script: &str) -> String {
        let output = self.run(address, script);
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{script}: {error}");
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }
}

fn rent(cloud: &Cloud, client: &Client, ask: &str) -> (String, String) {
    cloud
        .ask("POST", "/api/v0/ssh/", &json!({"ssh_key": client.public()}))
        .expect("an answer");
    let body =
        json!({"image": "x", "disk": 10, "runtype": "ssh_direct", "env": {"JOB": "two words"}});
    let reply = cloud
        .ask("PUT", &format!("/api/v0/asks/{ask}/"), &body)
        .expect("an answer")
        .value();
    let id = reply["new_contract"].to_string();
    let state = cloud.state();
    assert!(state.mishaps.is_empty(), "{:?}", state.mishaps);
    let address = state.boxes[0].ssh.clone().expect("it runs");
    (id, address)
}

fn put_state(cloud: &Cloud, id: &str, state: &str) {
    cloud
        .ask(
            "PUT",
            &format!("/api/v0/instances/{id}/"),
            &json!({"state": state}),
        )
        .expect("an answer");
}

#[test]
fn a_box_is_a_machine_of_its_own() {
    let Some(cloud) = cloud(BoxKind::Plain) else {
        return;
    };
    let client = Client::new();
    let (id, address) = rent(&cloud, &client, "4000108");
    assert_eq!(
        client.says(&address, "echo \"$JOB\" $CONTAINER_ID"),
        format!("two words {id}")
    );
    assert_eq!(client.says(&address, "nvidia-smi -L | wc -l"), "8");
    let memory = "nvidia-smi --query-gpu=name,memory.total --format=csv,noheader,nounits | head -1";
    assert_eq!(client.says(&address, memory), "NVIDIA RTX 4090, 24564");
    // Work goes on when its login is over, and ends with the box.
    let home = client.says(&address, "pwd");
    client.says(&address, "setsid -f sh -c 'echo $$ > pid; exec sleep 100000' </dev/null >/dev/null 2>&1; echo kept > file");
    assert_eq!(
        client.says(
            &address,
            "while [ ! -s pid ]; do :; done; kill -0 $(cat pid) && echo alive"
        ),
        "alive"
    );
    put_state(&cloud, &id, "stopped");
    assert!(!client.run(&address, "true").status.success());
    assert_eq!(sleepers(Path::new(&home)), 0);
    put_state(&cloud, &id, "running");
    let address = cloud.state().boxes[0].ssh.clone().expect("it runs again");
    // The same host key, or the client would refuse.
    assert_eq!(
        client.says(
            &address,
            "cat file; kill -0 $(cat pid) 2>/dev/null || echo dead"
        ),
        "kept\ndead"
    );
    cloud
        .ask("DELETE", &format!("/api/v0/instances/{id}/"), &Value::Null)
        .expect("an answer");
    assert!(!Path::new(&home).exists());
}

/// Processes that still stand in a folder.
fn sleepers(folder: &Path) -> usize {
    let processes = std::fs::read_dir("/proc").expect("Linux").flatten();
    let inside = processes.filter(|entry| {
        std::fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| cwd.starts_with(folder))
    });
    inside.count()
}

#[test]
fn gpus_can_be_missing_or_broken_and_keys_too() {
    let Some(cloud) = cloud(BoxKind::Plain) else {
        return;
    };
    let client = Client::new();
    cloud.arm(Fault::GpuMissing);
    cloud.arm(Fault::LostGpu);
    let (id, address) = rent(&cloud, &client, "4000104");
    assert_eq!(client.says(&address, "nvidia-smi -L | wc -l"), "3");
    let query = client.run(
        &address,
        "nvidia-smi --query-gpu=name --format=csv,noheader",
    );
    assert_eq!(query.status.code(), Some(15));
    // A key that is taken away counts at once, and one that is attached too.
    let keys = format!("/api/v0/instances/{id}/ssh/");
    cloud
        .ask("DELETE", &format!("{keys}1/"), &Value::Null)
        .expect("an answer");
    assert!(!client.run(&address, "true").status.success());
    cloud
        .ask("POST", &keys, &json!({"ssh_key": client.public()}))
        .expect("an answer");
    assert!(client.run(&address, "true").status.success());
}

#[test]
fn an_ssh_that_refuses_and_a_host_that_dies() {
    let Some(cloud) = cloud(BoxKind::Plain) else {
        return;
    };
    let client = Client::new();
    cloud.arm(Fault::SshRefused);
    let (id, address) = rent(&cloud, &client, "4000101");
    assert!(!client.run(&address, "true").status.success());
    cloud.advance(Duration::from_secs(60));
    cloud.strike(&Fault::HostDeath, Some(&id));
    let shown = cloud
        .ask("GET", &format!("/api/v0/instances/{id}/"), &Value::Null)
        .expect("an answer");
    assert_eq!(shown.value()["instances"]["actual_status"], "offline");
}

#[test]
fn an_isolated_box_has_a_disk_and_an_address_of_its_own() {
    let Some(cloud) = cloud(BoxKind::Isolated) else {
        return;
    };
    let client = Client::new();
    let (id, address) = rent(&cloud, &client, "4000102");
    assert!(address.starts_with("10."), "{address}");
    assert_eq!(
        client.says(&address, "hostname; whoami; pwd; nvidia-smi -L | wc -l"),
        format!("{id}\nroot\n/root\n2")
    );
    // Its disk is full at 10 GB, and nothing of the host's is on it.
    let free = client
        .says(&address, "df --output=size -B1000000 / | tail -1")
        .trim()
        .parse::<u64>()
        .expect("MB");
    assert!((9000..10_000).contains(&free), "{free} MB");
    assert!(
        !client
            .run(&address, "fallocate -l 20G big")
            .status
            .success()
    );
    assert_eq!(
        client.says(
            &address,
            "rm -f big; ls -A /home /tmp /workspace | grep -v :"
        ),
        ""
    );
    client.says(
        &address,
        "setsid -f sleep 100000 </dev/null >/dev/null 2>&1; echo kept > file",
    );
    for _ in 0..3 {
        put_state(&cloud, &id, "stopped");
        put_state(&cloud, &id, "running");
        assert!(
            cloud.state().mishaps.is_empty(),
            "{:?}",
            cloud.state().mishaps
        );
    }
    assert_eq!(
        client.says(&address, "cat file; pgrep sleep || echo none"),
        "kept\nnone"
    );
    let keys = format!("/api/v0/instances/{id}/ssh/");
    cloud
        .ask("DELETE", &format!("{keys}1/"), &Value::Null)
        .expect("an answer");
    assert!(!client.run(&address, "true").status.success());
}

#[test]
fn a_volume_outlives_the_box_that_wrote_to_it() {
    for boxes in [BoxKind::Plain, BoxKind::Isolated] {
        let Some(cloud) = cloud(boxes) else { continue };
        let client = Client::new();
        cloud
            .ask("POST", "/api/v0/ssh/", &json!({"ssh_key": client.public()}))
            .expect("an answer");
        let made = cloud
            .ask(
                "PUT",
                "/api/v0/volumes/",
                &json!({"id": 4_000_199, "size": 20}),
            )
            .expect("an answer");
        let volume = made.value()["volume_id"].clone();
        let rent = || {
            let mount = json!({"volume_id": volume, "mount_path": "/root/runs"});
            let body = json!({"image": "x", "disk": 10, "runtype": "ssh_direct", "env": {}, "volume_info": mount});
            cloud
                .ask("PUT", "/api/v0/asks/4000101/", &body)
                .expect("an answer");
            let last = cloud.state().boxes.pop().expect("one is rented");
            (last.id, last.ssh.expect("it runs"))
        };
        let (id, address) = rent();
        client.says(&address, "echo weights > runs/best.pt");
        cloud
            .ask("DELETE", &format!("/api/v0/instances/{id}/"), &Value::Null)
            .expect("an answer");
        // The new box may have the old one's address; it doesn't have its key.
        std::fs::remove_file(client.folder.path().join("known_hosts")).expect("it was made");
        let (_, address) = rent();
        assert_eq!(
            client.says(&address, "cat ~/runs/best.pt"),
            "weights",
            "{boxes:?}"
        );
    }
}

#[test]
fn a_broken_gpu_is_available_and_fails_its_first_kernel() {
    for boxes in [BoxKind::Plain, BoxKind::Isolated] {
        let Some(cloud) = cloud(boxes) else { continue };
        let client = Client::new();
        cloud.arm(Fault::BrokenGpu);
        let (_, address) = rent(&cloud, &client, "4000102");
        let names = "nvidia-smi --query-gpu=name --format=csv,noheader | sort -u";
        assert_eq!(client.says(&address, names), "NVIDIA RTX 4090");
        let ask = "python3 -c 'import torch; print(torch.cuda.is_available(), torch.cuda.device_count())'";
        assert_eq!(client.says(&address, ask), "True 2");
        let kernel = "python3 -c 'import torch; a = torch.rand(9, 9).cuda(); a @ a'";
        let failed = client.run(&address, kernel);
        assert!(String::from_utf8_lossy(&failed.stderr).contains("no kernel image is available"));
        assert_eq!(failed.status.code(), Some(1));
    }
}

#[test]
fn where_the_api_names_no_port_a_box_is_on_22() {
    for boxes in [BoxKind::Plain, BoxKind::Isolated] {
        // The port takes root, whatever the boxes.
        if !nix::unistd::geteuid().is_root() {
            return;
        }
        let config = SimConfig {
            boxes,
            ..SimConfig::default()
        };
        let cloud = match Lambda::start(config) {
            Ok(cloud) => cloud,
            Err(error) => {
                skip(&error);
                continue;
            }
        };
        let client = Client::new();
        let key = json!({"name": "laptop", "public_key": client.public()});
        cloud
            .ask("POST", "/api/v1/ssh-keys", &key)
            .expect("an answer");
        let launch = json!({"region_name": "us-east-1", "instance_type_name": "gpu_1x_a10", "ssh_key_names": ["laptop"]});
        for _ in 0..2 {
            cloud
                .ask("POST", "/api/v1/instance-operations/launch", &launch)
                .expect("an answer");
        }
        let shown = cloud
            .ask("GET", "/api/v1/instances", &Value::Null)
            .expect("an answer")
            .value();
        assert!(
            cloud.state().mishaps.is_empty(),
            "{:?}",
            cloud.state().mishaps
        );
        for instance in shown["data"].as_array().expect("a list") {
            let address = format!("{}:22", instance["ip"].as_str().expect("it is active"));
            let output = client.run_as(
                "ubuntu",
                &address,
                "nvidia-smi -L | wc -l; cd && touch mine && ls",
            );
            assert_eq!(
                String::from_utf8_lossy(&output.stdout),
                "1\nmine\n",
                "{boxes:?}"
            );
        }
    }
}
