//! `/v2/network-volumes`.

use rust_decimal::Decimal;
use rust_decimal_macros::dec;
use serde_json::{Value, json};

use super::create::MONTH;
use super::market::cloud_of;
use super::pods::done;
use super::refuse::{invalid, refuse};
use crate::{Reply, Request, SimVolume, World, decimal, number, per_hour_of_month};

pub(crate) fn answer(world: &mut World, request: &Request, rest: &[&str]) -> Reply {
    match (request.method.as_str(), rest) {
        ("GET", []) => {
            let volumes = alive(world).map(shown);
            Reply::json(200, &json!({"networkVolumes": Value::from_iter(volumes)}))
        }
        ("POST", []) => create(world, &request.body),
        ("GET", [id]) => match alive(world).find(|volume| volume.id == *id) {
            Some(volume) => Reply::json(200, &shown(volume)),
            None => no_volume(),
        },
        ("DELETE", [id]) => delete(world, id),
        _ => refuse(404, "no route"),
    }
}

/// The one place in which all these volumes are; `Ok(None)` without any.
pub(crate) fn place_of(
    world: &World,
    wanted: &[(String, String)],
) -> Result<Option<String>, Reply> {
    let mut place: Option<String> = None;
    for (id, _) in wanted {
        let Some(volume) = alive(world).find(|volume| volume.id == *id) else {
            return Err(no_volume());
        };
        if place.as_ref().is_some_and(|place| *place != volume.region) {
            return Err(refuse(400, "network volumes are in different data centers"));
        }
        place = Some(volume.region.clone());
    }
    Ok(place)
}

pub(crate) fn alive(world: &World) -> impl Iterator<Item = &SimVolume> {
    let volumes = world.volumes.iter();
    volumes.filter(|volume| volume.deleted_at.is_none())
}

fn create(world: &mut World, body: &Value) -> Reply {
    let known = ["name", "size", "dataCenter", "type"];
    let mut names = body.as_object().into_iter().flatten().map(|(name, _)| name);
    if let Some(unknown) = names.find(|name| !known.contains(&name.as_str())) {
        return invalid(format!("$: additional properties '{unknown}' not allowed"));
    }
    let (Some(name), Some(place), Some(size)) = (
        body["name"].as_str(),
        body["dataCenter"].as_str(),
        body.get("size").and_then(decimal),
    ) else {
        return invalid("$: name, size and dataCenter are required");
    };
    let is_there = world
        .machines
        .iter()
        .any(|machine| cloud_of(machine) == "SECURE" && machine.region == place);
    if !is_there {
        return refuse(400, "data center not found");
    }
    if size < dec!(1) || size > dec!(4000) {
        return invalid("$.size: must be 1 to 4000");
    }
    let volume = SimVolume {
        id: format!("vol{:010x}", world.next_number()),
        name: name.to_owned(),
        region: place.to_owned(),
        size_gb: size,
        hourly: per_hour_of_month(monthly(size), MONTH),
        created_at: world.now(),
        deleted_at: None,
    };
    let reply = Reply::json(201, &shown(&volume));
    world.volumes.push(volume);
    reply
}

/// Dollars a month; what is above a terabyte is cheaper.
fn monthly(size: Decimal) -> Decimal {
    let first = size.min(dec!(1000));
    first * dec!(0.07) + (size - first) * dec!(0.05)
}

fn delete(world: &mut World, id: &str) -> Reply {
    let in_use = world
        .rentals
        .iter()
        .filter(|rental| rental.phase().is_alive())
        .any(|rental| rental.order.volumes.iter().any(|(volume, _)| volume == id));
    if in_use {
        return refuse(400, "network volume is attached to a pod");
    }
    let now = world.now();
    let mut volumes = world.volumes.iter_mut();
    match volumes.find(|volume| volume.id == id && volume.deleted_at.is_none()) {
        Some(volume) => {
            volume.deleted_at = Some(now);
            done()
        }
        None => no_volume(),
    }
}

fn no_volume() -> Reply {
    refuse(404, "network volume not found")
}

pub(crate) fn shown(volume: &SimVolume) -> Value {
    json!({
        "id": volume.id, "name": volume.name, "size": number(volume.size_gb),
        "dataCenter": volume.region, "type": "STANDARD", "createdAt": super::view::stamp(volume.created_at),
    })
}
