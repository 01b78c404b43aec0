//! Disks: every box has one, which is a volume with a bill of its own.

use rust_decimal::Decimal;
use rust_decimal_macros::dec;
use serde_json::{Value, json};

use super::create::uuid;
use crate::{Reply, SimVolume, World, number, per_hour_of_month};

/// Dollars per GB and month.
const NVME: Decimal = dec!(0.20);
const HOURS_PER_MONTH: u32 = 730;

pub(crate) fn types() -> Reply {
    let kind = |name: &str, monthly: Decimal| {
        let price = json!({
            "price_per_month_per_gb": number(monthly), "cps_per_gb": 0, "currency": "usd",
        });
        json!({"type": name, "price": price})
    };
    let types = [kind("HDD", dec!(0.05)), kind("NVMe", NVME)];
    Reply::json(200, &Value::from_iter(types))
}

/// The disk of a new box; returns its id.
pub(crate) fn make(world: &mut World, instance: &str, body: &Value, size_gb: Decimal) -> String {
    let id = uuid(world);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let name = match text(&body["os_volume"]["name"]) {
        name if name.is_empty() => format!("OS-{instance}"),
        name => name,
    };
    world.volumes.push(SimVolume {
        id: id.clone(),
        name,
        region: text(&body["location_code"]),
        size_gb,
        hourly: per_hour_of_month(NVME * size_gb, HOURS_PER_MONTH),
        created_at: world.now(),
        deleted_at: None,
    });
    id
}

pub(crate) fn delete(world: &mut World, ids: &[String]) {
    let now = world.now();
    let doomed = world
        .volumes
        .iter_mut()
        .filter(|volume| volume.deleted_at.is_none() && ids.contains(&volume.id));
    for volume in doomed {
        volume.deleted_at = Some(now);
    }
}

pub(crate) fn list(world: &World) -> Reply {
    let alive = world.volumes.iter().filter(|it| it.deleted_at.is_none());
    let shown = alive.map(|volume| {
        let owner = world.listed().into_iter().find(|rental| {
            rental.order.details["os_volume_id"] == volume.id.as_str() && rental.phase().is_alive()
        });
        json!({
            "id": volume.id, "name": volume.name, "size": number(volume.size_gb), "type": "NVMe",
            "status": if owner.is_some() { "attached" } else { "detached" }, "is_os_volume": true,
            "instance_id": owner.map(|rental| rental.id().to_owned()), "location": volume.region,
            "created_at": volume.created_at, "target": "vda", "ssh_key_ids": [],
        })
    });
    Reply::json(200, &Value::from_iter(shown))
}
