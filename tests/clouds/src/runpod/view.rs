//! One pod, as the API shows it.

use serde_json::{Value, json};

use super::market::cloud_of;
use crate::{Phase, Rental, World, number};

/// All fields of REST v2.
pub(crate) fn pod(world: &World, rental: &Rental) -> Value {
    let details = &rental.order.details;
    let machine = world.machine(rental.order.machine);
    let status = status(rental);
    let running = status == "RUNNING";
    let (id, gpus) = (rental.id(), rental.gpus_now);
    let ports: Vec<&str> = details["ports"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    // The port is mapped only where it was asked for, and only once the container runs.
    let ssh = rental
        .ssh
        .as_ref()
        .filter(|_| running && ports.contains(&"22/tcp"));
    let direct = ssh.map(|ssh| {
        json!({"host": ssh.host, "port": ssh.port, "username": "root",
            "command": format!("ssh root@{} -p {}", ssh.host, ssh.port)})
    });
    let proxy = format!("{id}-64411eb2");
    let mapped =
        ssh.map(|ssh| json!({"private": 22, "public": ssh.port, "type": "tcp", "ip": ssh.host}));
    let runtime = running.then(|| {
        json!({
            "uptime": (world.now() - rental.phase_since()).num_seconds(),
            "gpus": (0..gpus).map(|index| json!({"id": format!("GPU-{id}-{index}"), "util": 0, "memoryUtil": 0})).collect::<Vec<_>>(),
            "cpu": {"util": 2}, "memory": {"util": 3},
            "ports": mapped.into_iter().collect::<Vec<_>>(),
        })
    });
    json!({
        "id": id, "name": rental.order.label, "status": status, "actions": actions(status),
        "image": details["image"], "args": details["args"], "disk": number(rental.order.disk_gb),
        "ports": ports, "env": details["env"], "registry": null, "mounts": details["mounts"],
        "gpu": {"id": machine.map(|it| it.model.as_str()), "count": gpus, "vcpuCount": 16, "memory": 62},
        "cloud": machine.map(cloud_of), "dataCenterId": machine.map(|it| it.region.as_str()),
        "cudaVersion": "12.8",
        "ssh": {"proxy": {"host": "ssh.runpod.io", "port": 22, "username": proxy, "command": format!("ssh {proxy}@ssh.runpod.io")}, "direct": direct},
        "template": null, "cost": if status == "EXITED" { json!(0) } else { number(rental.rate_of("gpu")) },
        "locked": false, "globalNetworking": {"enabled": false}, "runtime": runtime,
        "createdAt": stamp(rental.created_at),
        "startedAt": running.then(|| stamp(rental.phase_since())),
    })
}

/// Observed, not desired.
pub(crate) fn status(rental: &Rental) -> &'static str {
    match rental.phase() {
        Phase::Booting { .. } if rental.history.len() == 1 => "PROVISIONING",
        Phase::Booting { .. } | Phase::Waiting => "STARTING",
        Phase::Running => "RUNNING",
        Phase::Stopped { .. } => "EXITED",
        Phase::Broken { .. } | Phase::Lost => "ERROR",
        Phase::Ending { .. } | Phase::Gone => "TERMINATED",
    }
}

fn actions(status: &str) -> &'static [&'static str] {
    match status {
        "RUNNING" => &["stop", "restart", "terminate"],
        "PROVISIONING" | "STARTING" => &["stop", "terminate"],
        "TERMINATED" => &[],
        _ => &["start", "terminate"],
    }
}

pub(crate) fn stamp(at: chrono::DateTime<chrono::Utc>) -> String {
    at.format("%Y-%m-%dT%H:%M:%SZ").to_string()
}
