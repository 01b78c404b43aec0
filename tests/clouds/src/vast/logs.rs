//! Logs come by a second address, which isn't there at first.

use serde_json::json;

use super::Vast;
use super::refuse::no_instance;
use crate::{Call, Phase, Reply, World};

pub(crate) fn ask(world: &World, call: &Call<'_>, id: &str) -> Reply {
    if world.rental(id).is_none() {
        return no_instance();
    }
    let url = format!("{}/s3/{id}.log", call.base);
    Reply::json(200, &json!({"success": true, "result_url": url, "msg": ""}))
}

pub(crate) fn file(vast: &mut Vast, world: &World, name: &str) -> Reply {
    let id = name.trim_end_matches(".log");
    let missing =
        || Reply::text(404, "<Error><Code>NoSuchKey</Code></Error>").typed("application/xml");
    let Some(rental) = world.rental(id) else {
        return missing();
    };
    if vast.logs_asked.insert(name.to_owned()) {
        return missing();
    }
    let last = if *rental.phase() == Phase::Running {
        "Server listening on 0.0.0.0 port 22."
    } else {
        ""
    };
    Reply::text(
        200,
        &format!("{}: created\n{last}\n", rental.created_at.to_rfc3339()),
    )
}
