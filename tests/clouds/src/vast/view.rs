//! One instance, as the API shows it.

use chrono::{DateTime, Utc};
use serde_json::{Map, Value, json};

use super::offer::costs;
use crate::boxes::SshAddress;
use crate::{Phase, Rental, Why, World, number};

/// All fields.
pub(crate) fn instance(world: &World, rental: &Rental) -> Map<String, Value> {
    let now = world.now();
    let order = &rental.order;
    let details = &order.details;
    let machine = world.machine(order.machine);
    let status = Status::of(rental, details["image"].as_str().unwrap_or_default());
    let runtype = details["runtype"].as_str().unwrap_or_default();
    let running = *rental.phase() == Phase::Running;
    let (base, disk) = (rental.rate_of("gpu"), rental.rate_of("disk"));
    let environment = details["env"].as_object().into_iter().flatten();
    let environment: Vec<Value> = environment
        .map(|(name, value)| json!([name, value]))
        .collect();
    let ssh = rental.ssh.as_ref();
    // The proxy takes the next port when a notebook has the first.
    let shift = u16::from(runtype.contains("jupyter"));
    let direct = ssh.filter(|_| running && runtype.contains("direc"));
    let memory = machine.map(|it| it.memory_mb);
    let end = machine.and_then(|it| it.contract_end);
    let object = json!({
        "id": rental.id().parse::<u64>().ok(), "machine_id": order.machine, "host_id": machine.map(|it| it.host),
        "label": order.label,
        "actual_status": status.actual, "intended_status": status.intended,
        "cur_state": status.current, "next_state": status.next, "status_msg": status.message,
        "ssh_host": ssh.map_or("ssh4.vast.ai", |ssh| ssh.host.as_str()), "ssh_idx": "4",
        "ssh_port": ssh.map_or(14_321, |ssh| ssh.port.saturating_sub(shift)),
        "public_ipaddr": direct.map_or("127.0.0.1", |ssh| ssh.host.as_str()), "local_ipaddrs": "192.0.2.10\n",
        "ports": direct.map(|ssh| ports(ssh, details)),
        "direct_port_count": 10, "direct_port_start": direct.map_or(-1, |ssh| i32::from(ssh.port)),
        "direct_port_end": direct.map_or(-1, |ssh| i32::from(ssh.port)),
        "machine_dir_ssh_port": direct.map(|ssh| ssh.port),
        "start_date": epoch(rental.created_at), "end_date": end.map(epoch),
        "uptime_mins": running.then(|| (now - rental.phase_since()).num_minutes()),
        "duration": end.map(|end| (end - now).num_seconds()),
        "extra_env": environment, "image_uuid": details["image"], "image_args": [], "image_runtype": runtype,
        "onstart": details["onstart"], "template_id": null, "template_hash_id": null,
        "is_bid": order.bid.is_some(), "min_bid": order.bid.map_or(Value::Null, number),
        "dph_base": number(base), "dph_total": number(base + disk),
        "storage_cost": machine.map(|it| number(it.storage_monthly)), "storage_total_cost": number(disk),
        "inet_up_cost": machine.map(|it| number(it.outbound)), "inet_down_cost": machine.map(|it| number(it.inbound)),
        "inet_up": machine.map(|it| number(it.up)), "inet_down": machine.map(|it| number(it.down)),
        "inet_up_billed": null, "inet_down_billed": null,
        "disk_space": number(order.disk_gb), "disk_usage": -1.0, "disk_util": -1.0,
        "gpu_name": machine.map(|it| it.model.as_str()), "num_gpus": rental.gpus_now, "gpu_ram": memory,
        "gpu_totalram": memory.map(|memory| u64::from(memory) * u64::from(rental.gpus_now)),
        "gpu_util": running.then_some(0.0), "gpu_temp": running.then_some(38.0), "vmem_usage": null,
        "cpu_util": null, "cpu_cores": 128, "cpu_cores_effective": 16.0, "cpu_ram": 515_000,
        "mem_limit": 64.0, "mem_usage": null,
        "cuda_max_good": machine.map(|it| number(it.cuda)), "driver_version": machine.map(|it| it.driver.as_str()),
        "reliability2": machine.map(|it| number(it.reliability)),
        "verification": machine.map(|it| if it.verified { "verified" } else { "unverified" }),
        "geolocation": machine.map(|it| it.region.as_str()), "static_ip": true, "webpage": null, "volume_info": super::volumes::mounted(rental),
        "instance": costs(base, disk), "search": costs(base, disk),
    });
    match object {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

/// SSH, and what `-p PORT:PORT` in the environment asked for; a box's other ports are reached as they are.
fn ports(ssh: &SshAddress, details: &Value) -> Value {
    let to = |port: &str| json!([{"HostIp": "0.0.0.0", "HostPort": port}]);
    let mut ports = Map::from_iter([("22/tcp".to_owned(), to(&ssh.port.to_string()))]);
    let names = details["env"].as_object().into_iter().flat_map(Map::keys);
    for asked in names.filter_map(|name| name.strip_prefix("-p ")) {
        let inner = asked.rsplit(':').next().unwrap_or(asked);
        ports.insert(format!("{inner}/tcp"), to(inner));
    }
    Value::Object(ports)
}

/// The four fields that together are a state, and the text beside them.
struct Status {
    actual: Option<&'static str>,
    intended: &'static str,
    current: &'static str,
    next: &'static str,
    message: Option<String>,
}

impl Status {
    fn of(rental: &Rental, image: &str) -> Self {
        let up = format!("success, running {}/ssh", image.replace(':', "_"));
        let running = |actual, message: &str| Self {
            actual: Some(actual),
            intended: "running",
            current: "running",
            next: "running",
            message: Some(message.to_owned()),
        };
        let stopped = |actual, message: &str| Self {
            actual: Some(actual),
            intended: "stopped",
            current: "stopped",
            next: "stopped",
            message: Some(message.to_owned()),
        };
        match rental.phase() {
            Phase::Booting { .. } if rental.history.len() == 1 && rental.order.bid.is_none() => {
                Self {
                    actual: None,
                    intended: "running",
                    current: "unloaded",
                    next: "running",
                    message: None,
                }
            }
            Phase::Booting { .. } => running("loading", "d8a3c5: Pull complete"),
            Phase::Running => running("running", &up),
            Phase::Broken { message } if message.contains("OCI") => running("created", message),
            Phase::Broken { message } => running("loading", message),
            Phase::Stopped { why: Why::Asked } => stopped("exited", ""),
            Phase::Stopped { .. } => stopped("stopped", &up),
            Phase::Waiting => Self {
                current: "stopped",
                ..running("exited", "")
            },
            Phase::Lost => running("offline", &up),
            Phase::Ending { .. } | Phase::Gone => stopped("exited", ""),
        }
    }
}

fn epoch(at: DateTime<Utc>) -> Value {
    number(rust_decimal::Decimal::new(at.timestamp_millis(), 3))
}
