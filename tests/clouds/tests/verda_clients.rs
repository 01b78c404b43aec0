//! Verda's own SDK does its whole round on the simulator. Its environment is made by `cargo xtask test`; elsewhere this says
//! that it is skipped.

use std::path::{Path, PathBuf};
use std::process::Command;

use gpurun_clouds::verda::{CLIENT_ID, Verda};
use gpurun_clouds::{Cloud, Operation, Phase, SimConfig};

const PUBLIC_KEY: &str =
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIEIGZ9oOnPJXbyr0iYRFuWHzQZh4ztU0qY8f3bVgYpCD test";

const ROUND: &str = r#"
import os, verda
from verda.exceptions import APIException
url = os.environ["URL"]
client = verda.VerdaClient(os.environ["ID"], os.environ["KEY"], base_url=url)
assert client.balance.get().amount == 100, client.balance.get()
types = {it.instance_type: it for it in client.instance_types.get()}
h100 = types["1H100.80S.32V"]
assert h100.price_per_hour == 2.29 and h100.gpu["number_of_gpus"] == 1, h100
assert any(it.type == "NVMe" for it in client.volume_types.get())
assert client.instances.is_available("1H100.80S.32V", location_code="FIN-01") is True
assert client.instances.is_available("1H100.80S.32V", location_code="ICE-01") is False
places = {it["location_code"]: it["availabilities"] for it in client.instances.get_availabilities(is_spot=False)}
assert "1H100.80S.32V" in places["FIN-01"], places
key = client.ssh_keys.create("laptop", os.environ["LINE"])
assert [it.name for it in client.ssh_keys.get()] == ["laptop"]
made = client.instances.create("1H100.80S.32V", "ubuntu-24.04-cuda-12.8-open-docker", "gpurun-1", "d",
    ssh_key_ids=[key.id], location="FIN-01", os_volume={"name": "os", "size": 100})
shown = client.instances.get_by_id(made.id)
assert (shown.hostname, shown.status, shown.price_per_hour) == ("gpurun-1", "running", 2.29), shown
assert [it.id for it in client.instances.get()] == [made.id]
client.instances.action(made.id, "shutdown")
assert client.instances.get_by_id(made.id).status == "offline"
client.instances.action(made.id, "start")
assert client.instances.get_by_id(made.id).status in ("provisioning", "running")
# Its volume isn't named: it stays, and costs.
client.instances.action(made.id, "delete")
assert client.instances.get() == []
assert [it.name for it in client.volumes.get()] == ["os"]
try:
    client.instances.action(made.id, "delete")
    raise SystemExit("ended twice")
except APIException as error:
    assert error.code == "forbidden_action", error
try:
    client.instances.get_by_id("none")
    raise SystemExit("there is none")
except APIException as error:
    assert error.code == "not_found", error
try:
    verda.VerdaClient(os.environ["ID"], "wrong", base_url=url)
    raise SystemExit("a wrong key was taken")
except APIException as error:
    assert error.code == "unauthorized_request", error
client.ssh_keys.delete([key.id])
print(made.id)
"#;

/// The SDK's Python; `None`, said aloud, where there is none.
fn python() -> Option<PathBuf> {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let clients = std::env::var_os("GPURUN_CLIENTS")
        .map_or_else(|| workspace.join(".venv/clients"), PathBuf::from);
    let python = clients.join("verda/bin/python");
    if !python.exists() {
        skip(&python);
        return None;
    }
    Some(python)
}

#[expect(clippy::print_stderr, reason = "a test that can't run says so")]
fn skip(python: &Path) {
    let python = python.display();
    eprintln!("skipped: no {python}; `cargo xtask test` makes its environment");
}

#[test]
fn the_sdk_does_its_whole_round() {
    let Some(python) = python() else { return };
    let cloud: Cloud = Verda::start(SimConfig::default()).unwrap();
    let home = tempfile::tempdir().unwrap();
    let output = Command::new(python)
        .args(["-c", ROUND])
        .env("HOME", home.path())
        // Its own address ends in the version.
        .env("URL", format!("{}/v1", cloud.url()))
        .env("ID", CLIENT_ID)
        .env("KEY", cloud.key())
        .env("LINE", PUBLIC_KEY)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let id = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    let state = cloud.state();
    assert_eq!(state.boxes[0].id, id);
    assert!(matches!(
        state.boxes[0].phase,
        Phase::Ending { billed: false, .. }
    ));
    assert!(
        state.burn > rust_decimal::Decimal::ZERO,
        "the forgotten disk"
    );
    assert_eq!(cloud.count(Operation::Create), 1);
    assert_eq!(cloud.count(Operation::Destroy), 2);
    let log = serde_json::to_string(&cloud.requests()).unwrap();
    assert!(!log.contains(cloud.key()), "no credentials are logged");
}
