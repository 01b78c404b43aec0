//! `/file-systems` to list, `/filesystems` to change.

use rust_decimal::Decimal;
use serde_json::{Value, json};

use super::catalog::named_region;
use super::refuse::{invalid, no_such, refuse};
use super::vendor::data;
use crate::{Reply, Request, SimVolume, World};

pub(crate) fn list(world: &World) -> Reply {
    let alive = world
        .volumes
        .iter()
        .filter(|volume| volume.deleted_at.is_none());
    data(&Value::from_iter(alive.map(|volume| shown(world, volume))))
}

pub(crate) fn create(world: &mut World, request: &Request) -> Reply {
    let (Some(name), Some(region)) = (
        request.body["name"].as_str(),
        request.body["region"].as_str(),
    ) else {
        return invalid("name", "name and region are required");
    };
    if !world
        .machines
        .iter()
        .any(|machine| machine.region == region)
    {
        return invalid("region", "unknown region");
    }
    let alive = |volume: &&SimVolume| volume.deleted_at.is_none() && volume.name == name;
    if world.volumes.iter().find(alive).is_some() {
        return refuse(
            400,
            "global/duplicate",
            "A file system with this name already exists.",
            "Use another name.",
        );
    }
    let volume = SimVolume {
        id: format!("{:032x}", world.next_number()),
        name: name.to_owned(),
        region: region.to_owned(),
        // Only what is stored costs anything: a new one is empty.
        size_gb: Decimal::ZERO,
        hourly: Decimal::ZERO,
        created_at: world.now(),
        deleted_at: None,
    };
    let reply = data(&shown(world, &volume));
    world.volumes.push(volume);
    reply
}

pub(crate) fn delete(world: &mut World, id: &str) -> Reply {
    if in_use(world, id) {
        return refuse(
            400,
            "filesystems/filesystem-in-use",
            "The file system is attached to an instance.",
            "Terminate the instance first.",
        );
    }
    let now = world.now();
    let mut volumes = world.volumes.iter_mut();
    let Some(volume) = volumes.find(|it| it.id == id && it.deleted_at.is_none()) else {
        return no_such("Specified file system does not exist.");
    };
    volume.deleted_at = Some(now);
    data(&json!({"deleted_ids": [id]}))
}

fn in_use(world: &World, id: &str) -> bool {
    let mut alive = world
        .rentals
        .iter()
        .filter(|rental| rental.phase().is_alive());
    alive.any(|rental| rental.order.volumes.iter().any(|(volume, _)| volume == id))
}

fn shown(world: &World, volume: &SimVolume) -> Value {
    let bytes = (volume.size_gb * Decimal::from(1_000_000_000)).trunc();
    json!({
        "id": volume.id, "name": volume.name, "mount_point": format!("/lambda/nfs/{}", volume.name),
        "created": volume.created_at.to_rfc3339(),
        "created_by": {"id": "00000000000000000000000000000001", "email": "user@example.invalid", "status": "active"},
        "is_in_use": in_use(world, &volume.id), "region": named_region(&volume.region),
        "bytes_used": i64::try_from(bytes.mantissa()).unwrap_or(0),
    })
}
