//! `POST /instances`.

use chrono::TimeDelta;
use rust_decimal::Decimal;
use serde_json::Value;

use super::refuse::{invalid, no_such, refuse, server_error, sold_out};
use super::{catalog, volumes};
use crate::{Call, Fault, Order, Rate, Reply, When, World};

/// Everything that a create may say.
const FIELDS: [&str; 13] = [
    "instance_type",
    "image",
    "ssh_key_ids",
    "startup_script_id",
    "hostname",
    "description",
    "location_code",
    "os_volume",
    "volumes",
    "existing_volumes",
    "is_spot",
    "coupon",
    "contract",
];

/// GB of a box's own disk where none is asked for.
const USUAL_DISK: u32 = 50;

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
        body["instance_type"].as_str(),
        body["location_code"].as_str(),
    );
    let mut of_kind = world
        .machines
        .iter()
        .filter(|machine| Some(catalog::name_of(machine)) == kind);
    let Some(machine) = of_kind.find(|machine| Some(machine.region.as_str()) == place) else {
        return invalid("instance_type or location_code is unknown");
    };
    let gpus = catalog::gpus_of(machine);
    if !machine.online || machine.free < gpus || call.faults.contains(&Fault::OfferGone) {
        return sold_out();
    }
    if world.balance() <= Decimal::ZERO {
        return refuse(402, "insufficient_funds", "Insufficient funds");
    }
    let machine = machine.id;
    let id = rent(world, call, machine, gpus);
    if call.faults.contains(&Fault::DuplicateLabel) {
        rent(world, call, machine, gpus);
    }
    if call.faults.contains(&Fault::FailedCreateLeavesBox) {
        return server_error(500);
    }
    // The id as plain text.
    Reply::text(202, &id)
}

fn rent(world: &mut World, call: &Call<'_>, machine: u64, gpus: u32) -> String {
    let body = &call.request.body;
    let id = uuid(world);
    let ids = strings(&body["ssh_key_ids"]);
    let keys = world.keys.iter().filter(|key| ids.contains(&key.id));
    let keys = keys.map(|key| key.line.clone()).collect();
    let size = body["os_volume"]["size"].as_u64();
    let disk_gb = size.map_or(Decimal::from(USUAL_DISK), Decimal::from);
    let disk = volumes::make(world, &id, body, disk_gb);
    let mut details = body.clone();
    details["os_volume_id"] = Value::from(disk);
    let order = Order {
        id: id.clone(),
        label: body["hostname"].as_str().map(str::to_owned),
        machine,
        gpus,
        disk_gb,
        // Shut down or not, it costs; its disk is a volume, with a bill of its own.
        rates: vec![Rate {
            item: "instance",
            hourly: world
                .machine(machine)
                .map(catalog::hourly)
                .unwrap_or_default(),
            when: When::Exists,
        }],
        granularity: TimeDelta::minutes(10),
        keys,
        user: "root",
        environment: Vec::new(),
        bid: None,
        volumes: Vec::new(),
        details,
    };
    world.rent(order, call.faults);
    id
}

pub(crate) fn uuid(world: &mut World) -> String {
    let (random, number) = (fastrand::u64(..), world.next_number());
    format!(
        "{:08x}-{:04x}-4{:03x}-8{:03x}-{number:012x}",
        random >> 32,
        (random >> 16) & 0xffff,
        random & 0xfff,
        (random >> 12) & 0xfff,
    )
}

/// What it refuses before it looks for room.
fn fault_in(world: &World, body: &Value) -> Option<Reply> {
    let Some(fields) = body.as_object() else {
        return Some(invalid("the body must be a JSON object"));
    };
    let known = |name: &&String| name.as_str() == "pricing" || FIELDS.contains(&name.as_str());
    if let Some(unknown) = fields.keys().find(|name| !known(name)) {
        return Some(invalid(&format!("{unknown} is not allowed")));
    }
    for field in [
        "instance_type",
        "image",
        "hostname",
        "description",
        "location_code",
    ] {
        if body[field].as_str().is_none_or(str::is_empty) {
            return Some(invalid(&format!("{field} is required")));
        }
    }
    let hostname = body["hostname"].as_str().unwrap_or_default();
    let allowed = |letter: char| letter.is_ascii_alphanumeric() || letter == '-';
    if hostname.len() > 63 || !hostname.chars().all(allowed) {
        return Some(invalid("hostname is not a host name"));
    }
    let ids = strings(&body["ssh_key_ids"]);
    if ids.is_empty() {
        return Some(invalid("ssh_key_ids must not be empty"));
    }
    if ids
        .iter()
        .any(|id| !world.keys.iter().any(|key| key.id == *id))
    {
        return Some(no_such("SSH key"));
    }
    let disk = &body["os_volume"];
    let whole = disk["name"].is_string() && disk["size"].as_u64().is_some_and(|size| size > 0);
    (!disk.is_null() && !whole).then(|| invalid("os_volume takes a name and a size"))
}

pub(crate) fn strings(value: &Value) -> Vec<String> {
    let items = value.as_array().into_iter().flatten();
    items
        .filter_map(|item| item.as_str().map(str::to_owned))
        .collect()
}
