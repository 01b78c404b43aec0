//! `POST /instance-operations/launch`.

use chrono::TimeDelta;
use rust_decimal::Decimal;
use serde_json::{Value, json};

use super::catalog::gpus_of;
use super::refuse::{internal_error, invalid, no_capacity, no_such, refuse};
use super::vendor::data;
use crate::{Call, Fault, Order, Rate, Reply, When, World};

/// Everything that a launch may say.
const FIELDS: [&str; 11] = [
    "region_name",
    "instance_type_name",
    "ssh_key_names",
    "name",
    "hostname",
    "image",
    "user_data",
    "file_system_names",
    "file_system_mounts",
    "tags",
    "firewall_rulesets",
];

pub(crate) fn answer(world: &mut World, call: &Call<'_>) -> Reply {
    let body = &call.request.body;
    for fault in call.faults {
        if let Fault::PriceChange { percent } = fault {
            world.raise_prices(*percent);
        }
    }
    if let Some(reply) = fault_in(world, body) {
        return reply;
    }
    let (kind, place) = (
        body["instance_type_name"].as_str(),
        body["region_name"].as_str(),
    );
    let mut of_kind = world
        .machines
        .iter()
        .filter(|it| it.details["type"].as_str() == kind);
    let Some(machine) = of_kind.find(|it| Some(it.region.as_str()) == place) else {
        return no_such("Specified instance type does not exist in the region.");
    };
    let gpus = gpus_of(machine);
    if !machine.online || machine.free < gpus || call.faults.contains(&Fault::OfferGone) {
        return no_capacity();
    }
    if world.balance() <= Decimal::ZERO {
        return refuse(
            403,
            "global/account-inactive",
            "Your account is inactive.",
            "Contact Support.",
        );
    }
    let machine = machine.id;
    let id = rent(world, call, machine, gpus);
    if call.faults.contains(&Fault::DuplicateLabel) {
        rent(world, call, machine, gpus);
    }
    if call.faults.contains(&Fault::FailedCreateLeavesBox) {
        return internal_error(500);
    }
    data(&json!({"instance_ids": [id]}))
}

fn rent(world: &mut World, call: &Call<'_>, machine: u64, gpus: u32) -> String {
    let body = &call.request.body;
    let id = format!("{:016x}{:016x}", fastrand::u64(..), world.next_number());
    let names = strings(&body["ssh_key_names"]);
    let keys = world.keys.iter().filter(|key| names.contains(&key.name));
    let keys = keys.map(|key| key.line.clone()).collect();
    let kind = world.machine(machine);
    let hourly = kind
        .map(|it| it.gpu_hourly * Decimal::from(gpus))
        .unwrap_or_default();
    let order = Order {
        id: id.clone(),
        label: body["name"].as_str().map(str::to_owned),
        machine,
        gpus,
        disk_gb: kind.map(|it| it.disk_gb).unwrap_or_default(),
        rates: vec![Rate {
            item: "gpu",
            hourly,
            when: When::Running,
        }],
        granularity: TimeDelta::minutes(1),
        keys,
        user: "ubuntu",
        environment: Vec::new(),
        bid: None,
        volumes: mounts(world, body),
        details: body.clone(),
    };
    world.rent(order, call.faults);
    id
}

/// Volumes by id and the path they appear at.
fn mounts(world: &World, body: &Value) -> Vec<(String, String)> {
    let named = strings(&body["file_system_names"])
        .into_iter()
        .filter_map(|name| {
            let volume = world
                .volumes
                .iter()
                .find(|it| it.name == name && it.deleted_at.is_none())?;
            Some((volume.id.clone(), format!("/home/ubuntu/{name}")))
        });
    let placed = body["file_system_mounts"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|mount| {
            let id = mount["file_system_id"].as_str()?;
            Some((id.to_owned(), mount["mount_point"].as_str()?.to_owned()))
        });
    named.chain(placed).collect()
}

/// What it refuses before it looks for room.
fn fault_in(world: &World, body: &Value) -> Option<Reply> {
    let Some(fields) = body.as_object() else {
        return Some(invalid("body", "must be a JSON object"));
    };
    if let Some(unknown) = fields.keys().find(|name| !FIELDS.contains(&name.as_str())) {
        return Some(invalid(unknown, "unknown field"));
    }
    for field in ["region_name", "instance_type_name"] {
        if body[field].as_str().is_none_or(str::is_empty) {
            return Some(invalid(field, "is required"));
        }
    }
    let keys = strings(&body["ssh_key_names"]);
    let [key] = keys.as_slice() else {
        return Some(invalid("ssh_key_names", "must name exactly one SSH key"));
    };
    if !world.keys.iter().any(|known| known.name == *key) {
        return Some(no_such("Specified SSH key does not exist."));
    }
    if body["name"]
        .as_str()
        .is_some_and(|name| name.chars().count() > 64)
    {
        return Some(invalid("name", "must be 64 characters or fewer"));
    }
    if body["user_data"]
        .as_str()
        .is_some_and(|text| text.len() > 1 << 20)
    {
        return Some(invalid("user_data", "must be 1 MB or less"));
    }
    volumes_fault(world, body)
}

fn volumes_fault(world: &World, body: &Value) -> Option<Reply> {
    let region = body["region_name"].as_str().unwrap_or_default();
    let wanted = strings(&body["file_system_names"]).len()
        + body["file_system_mounts"].as_array().map_or(0, Vec::len);
    let mounts = mounts(world, body);
    let found: Vec<_> = world
        .volumes
        .iter()
        .filter(|volume| {
            volume.deleted_at.is_none() && mounts.iter().any(|(id, _)| *id == volume.id)
        })
        .collect();
    if found.len() < wanted {
        return Some(no_such("Specified file system does not exist."));
    }
    let elsewhere = found.iter().any(|volume| volume.region != region);
    elsewhere.then(|| {
        refuse(
            400,
            "instance-operations/launch/file-system-in-wrong-region",
            "Specified file system is in a different region from the instance.",
            "Use a file system in the region of the instance.",
        )
    })
}

pub(crate) fn strings(value: &Value) -> Vec<String> {
    let items = value.as_array().into_iter().flatten();
    items
        .filter_map(|item| item.as_str().map(str::to_owned))
        .collect()
}
