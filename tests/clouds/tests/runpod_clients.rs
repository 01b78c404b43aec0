//! RunPod's own clients do their whole round on its simulator: the Python SDK over GraphQL, and the server that the vendor
//! gives to assistants over REST v2. Their environments are made by `cargo xtask test`; elsewhere these tests say that they
//! are skipped.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use gpurun_clouds::runpod::RunPod;
use gpurun_clouds::{Cloud, Operation, Phase, SimConfig};
use serde_json::{Value, json};

/// What an environment variable names, else a place below the workspace; `None`, said aloud, where nothing is there.
fn program(variable: &str, usual: &str, below: &str) -> Option<PathBuf> {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder = std::env::var_os(variable).map_or_else(|| workspace.join(usual), PathBuf::from);
    let program = folder.join(below);
    if !program.exists() {
        skip(&program);
        return None;
    }
    Some(program)
}

#[expect(clippy::print_stderr, reason = "a test that can't run says so")]
fn skip(program: &Path) {
    let program = program.display();
    eprintln!(
        "skipped: no {program}; `cargo xtask test` makes its environment (where npm is, for one of npm's)"
    );
}

fn phase(cloud: &Cloud) -> Phase {
    cloud.state().boxes[0].phase.clone()
}

const SDK_ROUND: &str = r#"
import json, os, runpod
runpod.api_key = os.environ["KEY"]
gpu = "NVIDIA GeForce RTX 4090"
assert gpu in [it["id"] for it in runpod.get_gpus()], runpod.get_gpus()
assert runpod.get_gpu(gpu)["securePrice"] == 0.74
pod = runpod.create_pod("gpurun-1", "runpod/pytorch:1", gpu, cloud_type="SECURE", gpu_count=2,
    container_disk_in_gb=30, ports="22/tcp", env={"JOB": "j1"})
shown = runpod.get_pod(pod["id"])
assert (shown["name"], shown["gpuCount"], shown["desiredStatus"]) == ("gpurun-1", 2, "RUNNING"), shown
assert "JOB=j1" in shown["env"], shown
assert runpod.stop_pod(pod["id"])["desiredStatus"] == "EXITED"
assert runpod.resume_pod(pod["id"], 2)["desiredStatus"] == "RUNNING"
assert [it["id"] for it in runpod.get_pods()] == [pod["id"]]
try:
    runpod.create_pod("no", "x", gpu, gpu_count=64)
    raise SystemExit("there are no 64")
except runpod.error.QueryError as error:
    assert "no longer any instances" in str(error), error
runpod.terminate_pod(pod["id"])
assert runpod.get_pods() == []
assert runpod.get_pod(pod["id"]) is None
runpod.api_key = "wrong"
try:
    runpod.get_pods()
    raise SystemExit("a wrong key was taken")
except (runpod.error.AuthenticationError, runpod.error.QueryError):
    pass
print(pod["id"])
"#;

#[test]
fn the_python_sdk_does_its_whole_round() {
    let below = "runpod/bin/python";
    let Some(python) = program("GPURUN_CLIENTS", ".venv/clients", below) else {
        return;
    };
    let cloud = RunPod::start(SimConfig::default()).unwrap();
    let home = tempfile::tempdir().unwrap();
    let output = Command::new(python)
        .args(["-c", SDK_ROUND])
        .env("HOME", home.path())
        .env("RUNPOD_API_BASE_URL", cloud.url())
        .env("KEY", cloud.key())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let id = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    let state = cloud.state();
    assert_eq!(state.boxes[0].id, id);
    assert_eq!((state.boxes[0].gpus, phase(&cloud)), (2, Phase::Gone));
    let changes: Vec<Operation> = cloud
        .requests()
        .iter()
        .map(|request| request.operation)
        .filter(|operation| {
            use Operation::{Create, Destroy, Start, Stop};
            matches!(operation, Create | Start | Stop | Destroy)
        })
        .collect();
    use Operation::{Create, Destroy, Start, Stop};
    assert_eq!(changes, [Create, Stop, Start, Create, Destroy]);
}

/// The vendor's server for assistants, spoken to as an assistant does: JSON-RPC, a line each.
struct Assistant {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    number: u64,
}

impl Assistant {
    fn start(script: &Path, cloud: &Cloud, home: &Path) -> Self {
        let mut child = Command::new("node")
            .arg(script)
            .env("HOME", home)
            .env("RUNPOD_API_BASE_URL", cloud.url())
            .env("RUNPOD_API_KEY", cloud.key())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("node");
        let input = child.stdin.take().expect("a pipe");
        let output = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut assistant = Self {
            child,
            input,
            output,
            number: 0,
        };
        let hello = json!({
            "protocolVersion": "2024-11-05", "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        });
        assistant.ask("initialize", &hello);
        assistant.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        assistant
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.input, "{message}").expect("it reads");
    }

    fn ask(&mut self, method: &str, parameters: &Value) -> Value {
        self.number += 1;
        let number = self.number;
        self.send(&json!({"jsonrpc": "2.0", "id": number, "method": method, "params": parameters}));
        loop {
            let mut line = String::new();
            assert!(
                self.output.read_line(&mut line).unwrap_or(0) > 0,
                "it ended"
            );
            let answer: Value = serde_json::from_str(&line).unwrap_or_default();
            if answer["id"] == number {
                return answer["result"].clone();
            }
        }
    }

    /// What a tool answers, as text and as JSON where it is some.
    fn tool(&mut self, name: &str, arguments: &Value) -> (bool, String) {
        let result = self.ask("tools/call", &json!({"name": name, "arguments": arguments}));
        let text = result["content"][0]["text"].as_str().unwrap_or_default();
        (result["isError"] == true, text.to_owned())
    }

    fn json(&mut self, name: &str, arguments: &Value) -> Value {
        let (failed, text) = self.tool(name, arguments);
        assert!(!failed, "{name}: {text}");
        let start = text.find('{').unwrap_or(text.len());
        serde_json::from_str(&text[start..])
            .unwrap_or_else(|error| panic!("{name}: {error}: {text}"))
    }
}

impl Drop for Assistant {
    fn drop(&mut self) {
        // It is of no use any more, ended or not.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn the_vendors_own_server_does_its_whole_round() {
    let below = "node_modules/@runpod/mcp-server/dist/stdio.mjs";
    let Some(script) = program("GPURUN_CLIENTS_NODE", ".venv/clients-node", below) else {
        return;
    };
    let cloud = RunPod::start(SimConfig::default()).unwrap();
    let home = tempfile::tempdir().unwrap();
    let mut assistant = Assistant::start(&script, &cloud, home.path());

    let asked =
        json!({"include": ["AVAILABILITY"], "product": ["POD"], "count": 1, "cloud": "SECURE"});
    let gpus = assistant.json("list-gpu-types", &asked).to_string();
    assert!(
        gpus.contains("NVIDIA GeForce RTX 4090") && gpus.contains("US-KS-2"),
        "{gpus}"
    );
    let volume = assistant.json(
        "create-network-volume",
        &json!({"body": {"name": "runs", "size": 100, "dataCenter": "US-KS-2"}}),
    );
    let pod = assistant.json(
        "create-pod",
        &json!({"body": {
            "name": "gpurun-1", "image": "runpod/pytorch:1", "gpu": {"id": "NVIDIA GeForce RTX 4090", "count": 2},
            "cloud": "SECURE", "disk": 40, "ports": ["22/tcp"], "env": {"JOB": "j1"}, "startSsh": true,
            "mounts": {"network": [{"volumeId": volume["id"], "path": "/workspace"}]},
        }}),
    );
    let id = pod["id"].as_str().expect("an id").to_owned();
    assert_eq!(cloud.state().boxes[0].label.as_deref(), Some("gpurun-1"));
    let shown = assistant.json("get-pod", &json!({"id": id}));
    assert_eq!(
        (&shown["status"], &shown["gpu"]["count"]),
        (&json!("RUNNING"), &json!(2))
    );
    assistant.json("pod-action", &json!({"id": id, "body": {"action": "stop"}}));
    assert!(matches!(phase(&cloud), Phase::Stopped { .. }));
    let (failed, said) =
        assistant.tool("pod-action", &json!({"id": id, "body": {"action": "stop"}}));
    assert!(failed && said.contains("not valid"), "{said}");
    assistant.json(
        "pod-action",
        &json!({"id": id, "body": {"action": "start"}}),
    );
    assert_eq!(phase(&cloud), Phase::Running);
    assistant.json(
        "update-pod",
        &json!({"id": id, "body": {"name": "gpurun-2"}}),
    );
    let listed = assistant.json("list-pods", &json!({})).to_string();
    assert!(listed.contains("gpurun-2"), "{listed}");
    let (failed, said) = assistant.tool("delete-network-volume", &json!({"id": volume["id"]}));
    assert!(failed && said.contains("attached"), "{said}");
    let (failed, said) = assistant.tool("delete-pod", &json!({"id": id}));
    assert!(!failed, "{said}");
    assert_eq!(phase(&cloud), Phase::Gone);
    let (failed, said) = assistant.tool("delete-network-volume", &json!({"id": volume["id"]}));
    assert!(!failed, "{said}");
    let (failed, _) = assistant.tool("get-pod", &json!({"id": id}));
    assert!(failed, "it is gone");
}
