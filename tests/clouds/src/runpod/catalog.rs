//! `GET /v2/catalog/gpus`.

use std::collections::BTreeMap;

use rust_decimal::Decimal;
use serde_json::{Value, json};

use super::market::cloud_of;
use super::refuse::refuse;
use crate::{Call, Fault, Machine, Reply, World, number};

pub(crate) fn gpus(world: &mut World, call: &Call<'_>) -> Reply {
    for fault in call.faults {
        if let Fault::PriceChange { percent } = fault {
            world.raise_prices(*percent);
        }
    }
    let request = call.request;
    let include = request.parameter("include").unwrap_or_default();
    let with_availability = include.split(',').any(|it| it == "AVAILABILITY");
    if with_availability && request.parameter("product").is_none() {
        return refuse(400, "product is required when include has AVAILABILITY");
    }
    let count = request
        .parameter("count")
        .and_then(|count| count.parse().ok())
        .unwrap_or(1);
    let cloud = request.parameter("cloud");
    let mut models: BTreeMap<&str, Vec<&Machine>> = BTreeMap::new();
    for machine in &world.machines {
        models.entry(&machine.model).or_default().push(machine);
    }
    let gpus: Vec<Value> = models
        .into_iter()
        .map(|(model, machines)| {
            let mut gpu = shown(model, &machines);
            if with_availability {
                let asked: Vec<&Machine> = machines
                    .into_iter()
                    .filter(|it| cloud.is_none_or(|cloud| cloud_of(it) == cloud))
                    .collect();
                gpu["availability"] = json!(availability(&asked, count));
                let places = asked
                    .iter()
                    .filter(|it| cloud_of(it) == "SECURE")
                    .map(|it| place(it, count));
                gpu["dataCenters"] = Value::from_iter(places);
            }
            gpu
        })
        .collect();
    Reply::json(200, &json!({"gpus": gpus}))
}

pub(crate) fn data_centers(world: &World) -> Reply {
    let mut names: Vec<&str> = world
        .machines
        .iter()
        .filter(|machine| cloud_of(machine) == "SECURE")
        .map(|machine| machine.region.as_str())
        .collect();
    names.sort_unstable();
    names.dedup();
    let centers = names.iter().map(|id| json!({"id": id, "name": id}));
    Reply::json(200, &json!({"dataCenters": Value::from_iter(centers)}))
}

fn shown(model: &str, machines: &[&Machine]) -> Value {
    let price = |cloud: &str| {
        let mut of = machines.iter().filter(|it| cloud_of(it) == cloud);
        of.next().map(|it| number(it.gpu_hourly))
    };
    let most = |cloud: &str| {
        let of = machines.iter().filter(|it| cloud_of(it) == cloud);
        of.map(|it| it.gpus).max().unwrap_or(0)
    };
    let memory = machines.first().map_or(0, |it| it.memory_mb);
    json!({
        "id": model, "name": short(model), "manufacturer": "NVIDIA",
        // Whole gigabytes as its maker names them.
        "memory": (Decimal::from(memory) / Decimal::from(1024)).round().to_string().parse::<u32>().unwrap_or(0),
        "pool": null, "secure": price("SECURE").is_some(), "community": price("COMMUNITY").is_some(),
        "price": {"secure": price("SECURE"), "community": price("COMMUNITY"), "serverless": null},
        "maxCount": {"secure": most("SECURE"), "community": most("COMMUNITY")},
        "cudaVersions": ["12.8", "12.6"],
    })
}

pub(crate) fn short(model: &str) -> &str {
    let name = model.strip_prefix("NVIDIA ").unwrap_or(model);
    name.strip_prefix("GeForce ").unwrap_or(name)
}

/// Stock, which is no reservation.
fn availability(machines: &[&Machine], count: u32) -> &'static str {
    let most = machines
        .iter()
        .filter(|machine| machine.online)
        .map(|machine| machine.free)
        .max()
        .unwrap_or(0);
    match most {
        free if free < count => "NONE",
        free if free < count * 2 => "LOW",
        free if free < count * 4 => "MEDIUM",
        _ => "HIGH",
    }
}

fn place(machine: &Machine, count: u32) -> Value {
    json!({"id": machine.region, "name": machine.region, "availability": availability(&[machine], count)})
}
