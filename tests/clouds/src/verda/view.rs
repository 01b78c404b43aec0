//! One instance, as the API shows it.

use serde_json::{Value, json};

use super::catalog::{extend, hardware};
use crate::{Phase, Rental, World, number};

/// All fields.
pub(crate) fn instance(world: &World, rental: &Rental) -> Value {
    let details = &rental.order.details;
    let machine = world.machine(rental.order.machine);
    let status = status(rental);
    let address = rental.ssh.as_ref().filter(|_| status == "running");
    let mut object = machine.map(hardware).unwrap_or_else(|| json!({}));
    let more = json!({
        "id": rental.id(), "instance_type": details["instance_type"],
        "price_per_hour": number(rental.rate_of("instance")), "hostname": rental.order.label,
        "description": details["description"], "status": status, "created_at": rental.created_at,
        "ssh_key_ids": details["ssh_key_ids"], "ip": address.map(|address| address.host.clone()),
        "os_volume_id": details["os_volume_id"], "location": details["location_code"],
        "image": details["image"], "startup_script_id": null, "is_spot": false,
        "contract": "PAY_AS_YOU_GO", "pricing": "FIXED_PRICE",
    });
    extend(&mut object, &more);
    object
}

pub(crate) fn status(rental: &Rental) -> &'static str {
    match rental.phase() {
        Phase::Booting { .. } | Phase::Waiting => "provisioning",
        Phase::Running => "running",
        Phase::Broken { .. } | Phase::Lost => "error",
        Phase::Stopped { .. } => "offline",
        Phase::Ending { .. } | Phase::Gone => "discontinued",
    }
}
