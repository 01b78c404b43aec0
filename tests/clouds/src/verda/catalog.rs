//! Instance types, and in which locations there is room for them.

use std::collections::{BTreeMap, BTreeSet};

use rust_decimal::Decimal;
use rust_decimal_macros::dec;
use serde_json::{Value, json};

use crate::{Call, Fault, Machine, Reply, World};

struct Kind {
    name: &'static str,
    label: &'static str,
    model: &'static str,
    memory_gb: u32,
    memory_mb: u32,
    gpus: u32,
    hourly: Decimal,
    cores: u32,
    memory: u32,
}

const KINDS: [Kind; 4] = [
    Kind {
        name: "1H100.80S.32V",
        label: "H100 SXM5 80GB",
        model: "H100 80GB HBM3",
        memory_gb: 80,
        memory_mb: 81_559,
        gpus: 1,
        hourly: dec!(2.29),
        cores: 32,
        memory: 185,
    },
    Kind {
        name: "1A100.22V",
        label: "A100 SXM4 80GB",
        model: "A100-SXM4-80GB",
        memory_gb: 80,
        memory_mb: 81_920,
        gpus: 1,
        hourly: dec!(1.29),
        cores: 22,
        memory: 120,
    },
    Kind {
        name: "8A100.176V",
        label: "A100 SXM4 80GB",
        model: "A100-SXM4-80GB",
        memory_gb: 80,
        memory_mb: 81_920,
        gpus: 8,
        hourly: dec!(10.32),
        cores: 176,
        memory: 960,
    },
    Kind {
        name: "1V100.6V",
        label: "Tesla V100 16GB",
        model: "Tesla V100-SXM2-16GB",
        memory_gb: 16,
        memory_mb: 16_384,
        gpus: 1,
        hourly: dec!(0.14),
        cores: 6,
        memory: 23,
    },
];

/// The catalog of a simulator that was told of none: much room in one location, little in another, none in a third.
pub(crate) fn machines() -> Vec<Machine> {
    let mut machines = Vec::new();
    for (place, room) in [("FIN-01", 4), ("FIN-03", 1), ("ICE-01", 0)] {
        for kind in &KINDS {
            let id = u64::try_from(machines.len()).unwrap_or(0) + 1;
            machines.push(machine(id, kind, place, room));
        }
    }
    machines
}

fn machine(id: u64, kind: &Kind, place: &str, room: u32) -> Machine {
    let details = json!({
        "type": kind.name, "gpus": kind.gpus, "label": kind.label, "cores": kind.cores,
        "memory": kind.memory, "gpu_memory": kind.memory_gb * kind.gpus,
    });
    Machine {
        region: place.to_owned(),
        inbound: Decimal::ZERO,
        outbound: Decimal::ZERO,
        datacenter: true,
        details: details.as_object().cloned().unwrap_or_default(),
        ..Machine::new(
            id,
            kind.model,
            kind.memory_mb,
            kind.gpus * room,
            kind.hourly / Decimal::from(kind.gpus),
        )
    }
}

/// GPUs of one instance of this type.
pub(crate) fn gpus_of(machine: &Machine) -> u32 {
    let gpus = machine.details["gpus"].as_u64();
    gpus.and_then(|gpus| u32::try_from(gpus).ok()).unwrap_or(1)
}

/// Dollars an hour for one instance of this type.
pub(crate) fn hourly(machine: &Machine) -> Decimal {
    machine.gpu_hourly * Decimal::from(gpus_of(machine))
}

pub(crate) fn name_of(machine: &Machine) -> &str {
    machine.details["type"].as_str().unwrap_or_default()
}

fn has_room(machine: &Machine) -> bool {
    machine.online && machine.free >= gpus_of(machine)
}

/// `GET /instance-types`: prices are text.
pub(crate) fn types(world: &mut World, call: &Call<'_>) -> Reply {
    for fault in call.faults {
        if let Fault::PriceChange { percent } = fault {
            world.raise_prices(*percent);
        }
    }
    let mut seen = BTreeSet::new();
    let mut types = Vec::new();
    for machine in &world.machines {
        if seen.insert(name_of(machine).to_owned()) {
            types.push(shown(machine));
        }
    }
    Reply::json(200, &Value::from(types))
}

fn shown(machine: &Machine) -> Value {
    let label = machine.details["label"].as_str().unwrap_or_default();
    let price = hourly(machine).normalize().to_string();
    let spot = (hourly(machine) / dec!(2)).normalize().to_string();
    let mut object = hardware(machine);
    let more = json!({
        "id": format!("c01dd00d-0000-480b-ae4e-{:012}", machine.id), "instance_type": name_of(machine),
        "price_per_hour": price, "spot_price": spot, "description": "Dedicated Hardware Instance",
        "best_for": ["Deep learning"], "model": label, "name": label, "display_name": label, "p2p": "",
        "currency": "usd", "manufacturer": "NVIDIA", "supported_os": ["ubuntu-24.04-cuda-12.8-open-docker"],
    });
    extend(&mut object, &more);
    object
}

/// What instance types and instances show alike.
pub(crate) fn hardware(machine: &Machine) -> Value {
    let of = |name: &str| machine.details.get(name).cloned().unwrap_or(Value::Null);
    let gpus = gpus_of(machine);
    let label = machine.details["label"].as_str().unwrap_or_default();
    json!({
        "cpu": {"description": "AMD EPYC", "number_of_cores": of("cores")},
        "gpu": {"description": format!("{gpus}x {label}"), "number_of_gpus": gpus},
        "memory": {"description": "RAM", "size_in_gigabytes": of("memory")},
        "gpu_memory": {"description": "GPU RAM", "size_in_gigabytes": of("gpu_memory")},
        "storage": {"description": "dynamic"},
    })
}

pub(crate) fn extend(object: &mut Value, more: &Value) {
    for (name, value) in more.as_object().into_iter().flatten() {
        object[name] = value.clone();
    }
}

/// `GET /instance-availability`.
pub(crate) fn availability(world: &World) -> Reply {
    let mut places: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for machine in &world.machines {
        let here = places.entry(&machine.region).or_default();
        if has_room(machine) {
            here.push(name_of(machine));
        }
    }
    let places = places
        .into_iter()
        .map(|(place, names)| json!({"location_code": place, "availabilities": names}));
    Reply::json(200, &Value::from_iter(places))
}

/// `GET /instance-availability/TYPE`.
pub(crate) fn is_available(world: &World, kind: &str, place: Option<&str>) -> Reply {
    let found = world.machines.iter().any(|machine| {
        name_of(machine) == kind
            && has_room(machine)
            && place.is_none_or(|place| machine.region == place)
    });
    Reply::json(200, &json!(found))
}

pub(crate) fn locations() -> Value {
    json!([
        {"code": "FIN-01", "name": "Finland 1", "country_code": "FI"},
        {"code": "FIN-03", "name": "Finland 3", "country_code": "FI"},
        {"code": "ICE-01", "name": "Iceland 1", "country_code": "IS"},
    ])
}
