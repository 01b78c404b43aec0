//! Local volumes: disk of one machine, which outlives the instances there and can't leave it.

use rust_decimal::Decimal;
use rust_decimal_macros::dec;
use serde_json::{Map, Value, json};

use super::filter::select;
use super::refuse::{no_route, refuse};
use super::vendor::MONTH;
use crate::{
    Machine, Rental, Reply, Request, SimVolume, World, decimal, number, per_hour_of_month,
};

/// The last two digits of the asks for disk.
const DISK_ASK: u64 = 99;

pub(crate) fn answer(world: &mut World, request: &Request, rest: &[&str]) -> Reply {
    match (request.method.as_str(), rest) {
        ("GET", []) => list(world),
        ("POST", ["search"]) => search(world, &request.body),
        ("PUT", []) => create(world, &request.body),
        ("DELETE", []) => delete(world, request.parameter("id").unwrap_or_default()),
        _ => no_route(&request.path),
    }
}

/// What a create's `volume_info` mounts: id and path. A volume is on one machine, and only there.
pub(crate) fn mounts(
    world: &World,
    machine: u64,
    info: &Value,
) -> Result<Vec<(String, String)>, String> {
    let Some(info) = info.as_object() else {
        return Ok(Vec::new());
    };
    let id = info
        .get("volume_id")
        .map(Value::to_string)
        .unwrap_or_default();
    let path = info
        .get("mount_path")
        .and_then(Value::as_str)
        .unwrap_or_default();
    if !path.starts_with('/') {
        return Err("mount_path must be absolute".to_owned());
    }
    match alive(world).find(|volume| volume.id == id) {
        Some(volume) if volume.region == machine.to_string() => Ok(vec![(id, path.to_owned())]),
        Some(_) => Err(format!("volume {id} is on another machine")),
        None => Err(format!("there is no volume {id}")),
    }
}

/// An instance's `volume_info`.
pub(crate) fn mounted(rental: &Rental) -> Value {
    let volumes = &rental.order.volumes;
    if volumes.is_empty() {
        return Value::Null;
    }
    let mounts = volumes
        .iter()
        .map(|(id, path)| json!({"id": id.parse::<u64>().ok(), "mount_path": path}));
    Value::from_iter(mounts)
}

fn alive(world: &World) -> impl Iterator<Item = &SimVolume> {
    world
        .volumes
        .iter()
        .filter(|volume| volume.deleted_at.is_none())
}

fn list(world: &World) -> Reply {
    let volumes: Vec<Value> = alive(world).map(|volume| shown(world, volume)).collect();
    Reply::json(200, &json!({"volumes": volumes}))
}

fn search(world: &World, body: &Value) -> Reply {
    let mut conditions = body.as_object().cloned().unwrap_or_default();
    let size = conditions
        .get("allocated_storage")
        .and_then(decimal)
        .unwrap_or(dec!(1));
    conditions.retain(|name, _| !["order", "limit", "allocated_storage"].contains(&name.as_str()));
    let online = world.machines.iter().filter(|machine| machine.online);
    let shown = online.map(|machine| offer(machine, size));
    match select(shown, &conditions) {
        Ok(offers) => Reply::json(200, &json!({"offers": offers})),
        Err(refusal) => refusal,
    }
}

fn create(world: &mut World, body: &Value) -> Reply {
    let ask = body["id"].as_u64().filter(|ask| ask % 100 == DISK_ASK);
    let machine = ask
        .and_then(|ask| world.machine(ask / 100))
        .filter(|machine| machine.online);
    let Some(machine) = machine.cloned() else {
        return refuse(404, "no_such_ask", "There is no such volume offer.");
    };
    let size = body.get("size").and_then(decimal).unwrap_or(dec!(15));
    if size < dec!(1) || size > machine.disk_gb {
        return refuse(
            400,
            "invalid_args",
            &format!("size must be 1 to {} GB", machine.disk_gb),
        );
    }
    let id = 26_000_000 + world.next_number();
    world.volumes.push(SimVolume {
        id: id.to_string(),
        name: body["name"].as_str().unwrap_or_default().to_owned(),
        region: machine.id.to_string(),
        size_gb: size,
        hourly: hourly(&machine, size),
        created_at: world.now(),
        deleted_at: None,
    });
    Reply::json(
        200,
        &json!({"success": true, "new_contract": id, "volume_id": id}),
    )
}

fn delete(world: &mut World, id: &str) -> Reply {
    if instances(world, id).next().is_some() {
        return refuse(
            400,
            "volume_in_use",
            "Destroy the instances that use the volume first.",
        );
    }
    let now = world.now();
    let mut volumes = world.volumes.iter_mut();
    let Some(volume) = volumes.find(|volume| volume.id == id && volume.deleted_at.is_none()) else {
        return refuse(404, "not_found", "There is no such volume.");
    };
    volume.deleted_at = Some(now);
    Reply::json(200, &json!({"success": true}))
}

fn instances<'a>(world: &'a World, volume: &'a str) -> impl Iterator<Item = Value> + 'a {
    let alive = world
        .rentals
        .iter()
        .filter(|rental| rental.phase().is_alive());
    let using = alive.filter(move |rental| rental.order.volumes.iter().any(|(id, _)| id == volume));
    using.map(|rental| json!(rental.id().parse::<u64>().ok()))
}

fn hourly(machine: &Machine, size: Decimal) -> Decimal {
    per_hour_of_month(machine.storage_monthly * size, MONTH)
}

fn of_machine(machine: &Machine) -> Map<String, Value> {
    let object = json!({
        "machine_id": machine.id, "host_id": machine.host, "cluster_id": null, "disk_name": "SAMSUNG MZQL21T9",
        "driver_version": machine.driver, "inet_up": number(machine.up), "inet_down": number(machine.down),
        "reliability": number(machine.reliability), "reliability2": number(machine.reliability),
        "verification": if machine.verified { "verified" } else { "unverified" }, "geolocation": machine.region,
        "storage_cost": number(machine.storage_monthly), "external": null, "disk_bw": 4210.0,
        "cuda_max_good": number(machine.cuda), "cpu_ghz": 2.8, "hosting_type": u8::from(machine.datacenter),
    });
    object.as_object().cloned().unwrap_or_default()
}

fn offer(machine: &Machine, size: Decimal) -> Map<String, Value> {
    let mut offer = of_machine(machine);
    offer.insert("id".to_owned(), json!(machine.id * 100 + DISK_ASK));
    offer.insert("disk_space".to_owned(), number(machine.disk_gb));
    offer.insert(
        "storage_total_cost".to_owned(),
        number(hourly(machine, size)),
    );
    offer
}

fn shown(world: &World, volume: &SimVolume) -> Value {
    let machine = volume.region.parse().ok().and_then(|id| world.machine(id));
    let mut shown = machine.map(of_machine).unwrap_or_default();
    let using: Vec<Value> = instances(world, &volume.id).collect();
    shown.insert("id".to_owned(), json!(volume.id.parse::<u64>().ok()));
    shown.insert("label".to_owned(), json!(volume.name));
    shown.insert("status".to_owned(), json!("running"));
    shown.insert("disk_space".to_owned(), number(volume.size_gb));
    shown.insert(
        "start_date".to_owned(),
        number(Decimal::new(volume.created_at.timestamp_millis(), 3)),
    );
    shown.insert("instances".to_owned(), Value::from(using));
    Value::Object(shown)
}
