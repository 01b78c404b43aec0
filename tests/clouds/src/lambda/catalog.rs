//! Instance types, and where there is room for them.

use std::collections::BTreeMap;

use rust_decimal::Decimal;
use rust_decimal_macros::dec;
use serde_json::{Map, Value, json};

use super::vendor::data;
use crate::{Call, Fault, Machine, Reply, World};

/// One type of instance, in one region, as many as there is room for.
struct Kind {
    name: &'static str,
    label: &'static str,
    model: &'static str,
    memory_mb: u32,
    gpus: u32,
    cents: i64,
    vcpus: u32,
    memory_gib: u32,
    storage_gib: u32,
}

const KINDS: [Kind; 5] = [
    Kind {
        name: "gpu_1x_a10",
        label: "A10 (24 GB PCIe)",
        model: "A10",
        memory_mb: 23_028,
        gpus: 1,
        cents: 129,
        vcpus: 30,
        memory_gib: 226,
        storage_gib: 1331,
    },
    Kind {
        name: "gpu_1x_a100_sxm4",
        label: "A100 (40 GB SXM4)",
        model: "A100-SXM4-40GB",
        memory_mb: 40_960,
        gpus: 1,
        cents: 199,
        vcpus: 30,
        memory_gib: 220,
        storage_gib: 512,
    },
    Kind {
        name: "gpu_8x_a100_80gb_sxm4",
        label: "A100 (80 GB SXM4)",
        model: "A100-SXM4-80GB",
        memory_mb: 81_920,
        gpus: 8,
        cents: 2232,
        vcpus: 240,
        memory_gib: 1800,
        storage_gib: 19_456,
    },
    Kind {
        name: "gpu_8x_h100_sxm5",
        label: "H100 (80 GB SXM5)",
        model: "H100 80GB HBM3",
        memory_mb: 81_559,
        gpus: 8,
        cents: 3192,
        vcpus: 208,
        memory_gib: 1800,
        storage_gib: 22_528,
    },
    Kind {
        name: "gpu_1x_gh200",
        label: "GH200 (96 GB)",
        model: "GH200 480GB",
        memory_mb: 97_871,
        gpus: 1,
        cents: 229,
        vcpus: 64,
        memory_gib: 432,
        storage_gib: 4096,
    },
];

/// The catalog of a simulator that was told of none; the last type of each region is sold out.
pub(crate) fn machines() -> Vec<Machine> {
    let mut machines = Vec::new();
    let mut id = 1;
    for (region, room) in [("us-east-1", 3), ("us-west-1", 1), ("europe-central-1", 0)] {
        for kind in &KINDS {
            machines.push(machine(id, kind, region, room));
            id += 1;
        }
    }
    machines
}

fn machine(id: u64, kind: &Kind, region: &str, room: u32) -> Machine {
    let dollars = Decimal::new(kind.cents, 2);
    let details = json!({
        "type": kind.name, "gpus": kind.gpus, "cents": kind.cents,
        "description": format!("{}x {}", kind.gpus, kind.label), "gpu_description": kind.label,
        "vcpus": kind.vcpus, "memory_gib": kind.memory_gib, "storage_gib": kind.storage_gib,
    });
    Machine {
        region: region.to_owned(),
        storage_monthly: Decimal::ZERO,
        inbound: Decimal::ZERO,
        outbound: Decimal::ZERO,
        disk_gb: Decimal::from(kind.storage_gib) * dec!(1.073741824),
        datacenter: true,
        architecture: if kind.model.starts_with("GH") {
            "arm64"
        } else {
            "amd64"
        }
        .to_owned(),
        details: details.as_object().cloned().unwrap_or_default(),
        ..Machine::new(
            id,
            kind.model,
            kind.memory_mb,
            kind.gpus * room,
            dollars / Decimal::from(kind.gpus),
        )
    }
}

/// GPUs of one instance of this type.
pub(crate) fn gpus_of(machine: &Machine) -> u32 {
    machine.details["gpus"]
        .as_u64()
        .and_then(|gpus| u32::try_from(gpus).ok())
        .unwrap_or(1)
}

/// `GET /instance-types`.
pub(crate) fn answer(world: &mut World, call: &Call<'_>) -> Reply {
    for fault in call.faults {
        if let Fault::PriceChange { percent } = fault {
            world.raise_prices(*percent);
        }
    }
    let mut types: BTreeMap<String, (Value, Vec<Value>)> = BTreeMap::new();
    for machine in &world.machines {
        let name = machine.details["type"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        let entry = types
            .entry(name)
            .or_insert_with(|| (type_of(machine), Vec::new()));
        if machine.online && machine.free >= gpus_of(machine) {
            entry.1.push(region(machine));
        }
    }
    let items: Map<String, Value> = types
        .into_iter()
        .map(|(name, (kind, regions))| {
            (
                name,
                json!({"instance_type": kind, "regions_with_capacity_available": regions}),
            )
        })
        .collect();
    data(&Value::Object(items))
}

/// An instance type, as everywhere.
pub(crate) fn type_of(machine: &Machine) -> Value {
    let of = |name: &str| machine.details.get(name).cloned().unwrap_or(Value::Null);
    let gpus = gpus_of(machine);
    // Whole cents an hour for the whole instance.
    let cents = (machine.gpu_hourly * Decimal::from(gpus) * dec!(100)).round();
    json!({
        "name": of("type"), "description": of("description"), "gpu_description": of("gpu_description"),
        "price_cents_per_hour": i64::try_from(cents.mantissa()).unwrap_or(0),
        "specs": {"vcpus": of("vcpus"), "memory_gib": of("memory_gib"), "storage_gib": of("storage_gib"), "gpus": gpus},
    })
}

/// A region, as everywhere.
pub(crate) fn region(machine: &Machine) -> Value {
    named_region(&machine.region)
}

/// A region by its name.
pub(crate) fn named_region(name: &str) -> Value {
    let description = match name {
        "us-east-1" => "Virginia, USA",
        "us-west-1" => "California, USA",
        "europe-central-1" => "Germany",
        _ => "elsewhere",
    };
    json!({"name": name, "description": description})
}
