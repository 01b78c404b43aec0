//! One instance, as the API shows it.

use chrono::{DateTime, Utc};
use serde_json::{Value, json};

use super::catalog::{region, type_of};
use super::launch::strings;
use crate::{Phase, Rental, World};

/// All fields.
pub(crate) fn instance(world: &World, rental: &Rental) -> Value {
    let details = &rental.order.details;
    let machine = world.machine(rental.order.machine);
    let status = status(rental, world.now());
    let list = |name: &str| {
        details
            .get(name)
            .filter(|it| it.is_array())
            .cloned()
            .unwrap_or(json!([]))
    };
    let mounts: Vec<Value> = rental
        .order
        .volumes
        .iter()
        .map(|(id, path)| json!({"file_system_id": id, "mount_point": path}))
        .collect();
    let mut object = json!({
        "id": rental.id(), "name": rental.order.label, "status": status,
        "ssh_key_names": strings(&details["ssh_key_names"]),
        "file_system_names": strings(&details["file_system_names"]), "file_system_mounts": mounts,
        "region": machine.map(region), "instance_type": machine.map(type_of), "is_reserved": false,
        "tags": list("tags"), "firewall_rulesets": list("firewall_rulesets"), "actions": actions(status),
    });
    // The address is left out until there is one.
    if let Some(ssh) = rental.ssh.as_ref().filter(|_| status == "active") {
        object["ip"] = json!(ssh.host);
        object["private_ip"] = json!("10.19.60.24");
        object["hostname"] = json!(format!("{}.cloud.lambda.ai", ssh.host.replace('.', "-")));
        object["jupyter_token"] = json!("not-served");
        object["jupyter_url"] = json!("https://jupyter.invalid");
    }
    object
}

fn status(rental: &Rental, now: DateTime<Utc>) -> &'static str {
    match rental.phase() {
        Phase::Booting { .. } | Phase::Waiting => "booting",
        Phase::Running => "active",
        Phase::Broken { .. } | Phase::Lost => "unhealthy",
        Phase::Stopped { .. } => "preempted",
        // The first half of the time that it stays listed.
        Phase::Ending {
            gone_at: Some(gone),
            ..
        } if now - rental.phase_since() >= *gone - now => "terminated",
        Phase::Ending { .. } => "terminating",
        Phase::Gone => "terminated",
    }
}

fn actions(status: &str) -> Value {
    let no = |code: &str| json!({"available": false, "reason_code": code, "reason_description": code.replace('-', " ")});
    let yes = json!({"available": true});
    let ending = matches!(status, "terminating" | "terminated");
    let why = if ending {
        "vm-is-terminating"
    } else {
        "vm-has-not-launched"
    };
    let restart = if status == "active" {
        yes.clone()
    } else {
        no(why)
    };
    json!({
        "migrate": no(why), "rebuild": no(why), "restart": restart, "cold_reboot": restart,
        "terminate": if ending { no(why) } else { yes },
    })
}
