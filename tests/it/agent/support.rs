//! A box in a temporary folder, and a trainer that waits for orders.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

/// Carries out what the test writes into `orders/N`, in turn; each order is a line of shell.
const TRAINER: &str = r#"
mkdir -p "$RUN/weights"
turn=1
while :; do
    while [ ! -e "orders/$turn" ]; do sleep 0.02; done
    . "./orders/$turn"
    turn=$((turn + 1))
    : > "orders/done-$turn"
done
"#;

pub(crate) struct TestBox {
    root: tempfile::TempDir,
    spec: Value,
    orders: u32,
}

impl TestBox {
    pub(crate) fn new() -> TestBox {
        let root = tempfile::tempdir().unwrap();
        let home = root.path();
        for folder in ["gpurun", "orders", "files", "to"] {
            fs::create_dir(home.join(folder)).unwrap();
        }
        fs::write(home.join("trainer.sh"), TRAINER).unwrap();
        let spec = json!({
            "schema_version": 1,
            "run_id": "3f",
            "run_name": "yolo",
            "attempt": 1,
            "argv": ["sh", "trainer.sh"],
            "env": {"RUN": "runs/yolo"},
            "run_dir": "runs/yolo",
            "heartbeat_seconds": 1,
            "push": {
                "to": home.join("to"),
                "first_best": true,
                "each_best": true,
                "epochs": true,
                "at_end": true,
            },
        });
        let mut made = TestBox {
            root,
            spec,
            orders: 0,
        };
        made.change_spec(|_| {});
        made
    }

    pub(crate) fn home(&self) -> &Path {
        self.root.path()
    }

    pub(crate) fn change_spec(&mut self, change: impl FnOnce(&mut Value)) {
        change(&mut self.spec);
        fs::write(self.home().join("gpurun/agent.json"), self.spec.to_string()).unwrap();
    }

    /// A verb of the agent, to be run on this box.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gpurun"));
        command
            .arg("agent")
            .args(arguments)
            .env("HOME", self.home());
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// The verb's answer; it must succeed.
    pub(crate) fn ask(&self, arguments: &[&str]) -> Value {
        let output = self.run(arguments);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {errors}");
        serde_json::from_slice(&output.stdout).unwrap()
    }

    pub(crate) fn start(&self) -> Value {
        self.ask(&["start"])
    }

    pub(crate) fn report(&self) -> Value {
        self.ask(&["report"])
    }

    /// Has the trainer run a line of shell, and waits until it has, unless the line ends the trainer.
    pub(crate) fn order(&mut self, line: &str) {
        self.orders += 1;
        let orders = self.home().join("orders");
        let written = orders.join("next");
        fs::write(&written, line).unwrap();
        fs::rename(written, orders.join(self.orders.to_string())).unwrap();
        if !line.ends_with("exit 0") && !line.ends_with("exit 3") && !line.ends_with("; exit") {
            let done = orders.join(format!("done-{}", self.orders + 1));
            until(&format!("`{line}` is done"), || done.exists().then_some(()));
        }
    }

    /// For a trainer that starts anew: it begins with the first order.
    pub(crate) fn forget_orders(&mut self) {
        self.orders = 0;
    }

    /// Has the trainer write a whole checkpoint and tell about it.
    pub(crate) fn order_checkpoint(&mut self, name: &str, content: &[u8], epoch: u32) {
        let file = self.home().join("files").join(name);
        fs::write(file, content).unwrap();
        let status =
            format!(r#"{{"state":"running","current_epoch":{epoch},"best_epoch":{epoch}}}"#);
        fs::write(self.home().join("files/status.json"), status).unwrap();
        self.order(&format!(
            "cp files/{name} $RUN/weights/{name}; echo '{{\"epoch\":{epoch}}}' >> $RUN/metrics.jsonl; \
             cp files/status.json $RUN/.s; mv $RUN/.s $RUN/status.json"
        ));
    }

    pub(crate) fn stored(&self, name: &str) -> PathBuf {
        self.home().join("to/yolo").join(name)
    }

    /// Waits until the destination holds this content under the name, verified.
    pub(crate) fn until_stored(&self, name: &str, content: &[u8]) {
        until(&format!("{name} is at the destination"), || {
            let manifest = read_json(&self.stored("manifest.json"))?;
            let entry = manifest["files"]
                .as_array()?
                .iter()
                .find(|e| e["file"] == name)?
                .clone();
            let verified = entry["current"]["verified_at"].is_string();
            (verified && fs::read(self.stored(name)).ok()? == content).then_some(())
        });
    }

    pub(crate) fn heartbeat(&self) -> Option<Value> {
        read_json(&self.home().join("gpurun/heartbeat.json"))
    }

    pub(crate) fn exit(&self) -> Option<Value> {
        read_json(&self.home().join("gpurun/exit.json"))
    }

    /// Waits until this attempt is over and the agent has said so.
    pub(crate) fn until_over(&self) -> Value {
        until("the exit report is final", || {
            self.exit().filter(|exit| exit["push_finished"] == true)
        })
    }
}

impl Drop for TestBox {
    fn drop(&mut self) {
        // Whatever a failed test left: the marked processes and the agent of this very box.
        let home = format!("HOME={}", self.home().display());
        for pid in pids() {
            let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            if environment
                .split(|byte| *byte == 0)
                .any(|variable| variable == home.as_bytes())
            {
                let _ = kill(pid, Signal::SIGKILL);
            }
        }
    }
}

fn pids() -> Vec<Pid> {
    let entries = fs::read_dir("/proc").unwrap();
    entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .map(Pid::from_raw)
        .collect()
}

pub(crate) fn read_json(path: &Path) -> Option<Value> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

pub(crate) fn pid(liveness: &Value) -> Pid {
    let pid = liveness["process"]["pid"].as_i64().unwrap();
    Pid::from_raw(i32::try_from(pid).unwrap())
}

/// Kills an agent for good.
pub(crate) fn kill_agent(agent: Pid) {
    crate::world::kill_agent(agent.as_raw());
}

pub(crate) fn kill_now(pid: Pid) {
    kill(pid, Signal::SIGKILL).unwrap();
}

/// Waits for what real processes do, and fails when it doesn't come.
pub(crate) fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "waited in vain until {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A field of `/proc/PID/status` that is a mask of signals, the 31 that are not real-time ones.
pub(crate) fn signals(pid: Pid, field: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let mask = status
        .lines()
        .find_map(|line| line.strip_prefix(field))
        .unwrap();
    u64::from_str_radix(mask.trim(), 16).unwrap() & 0x7fff_ffff
}

/// A whole `.pt`: an archive of one stored entry.
pub(crate) fn checkpoint(seed: u8, bytes: u32) -> Vec<u8> {
    let size = bytes.to_le_bytes();
    let mut file = b"PK\x03\x04".to_vec();
    file.extend([0; 14]);
    file.extend(size.iter().chain(&size));
    file.extend([1, 0, 0, 0, b'w']);
    file.extend(vec![seed; bytes as usize]);
    let offset = u32::try_from(file.len()).unwrap().to_le_bytes();
    file.extend(b"PK\x01\x02");
    file.extend([0; 16]);
    file.extend(size.iter().chain(&size));
    file.extend([1, 0]);
    file.extend([0; 16]);
    file.push(b'w');
    file.extend(b"PK\x05\x06\0\0\0\0\x01\0\x01\0\x2f\0\0\0");
    file.extend(offset);
    file.extend([0; 2]);
    file
}
