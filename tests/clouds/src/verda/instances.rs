//! Showing instances, and acting on them.

use chrono::TimeDelta;
use serde_json::Value;

use super::create::strings;
use super::refuse::{invalid, no_such, refuse, server_error};
use super::{view, volumes};
use crate::{Call, Fault, Phase, Reply, Started, Why, World};

/// What isn't deleted, or what has this status.
pub(crate) fn list(world: &World, status: Option<&str>) -> Reply {
    let shown = world.listed().into_iter().filter_map(|rental| {
        let is = view::status(rental);
        let wanted = status.map_or(is != "discontinued", |status| status == is);
        wanted.then(|| view::instance(world, rental))
    });
    Reply::json(200, &Value::from_iter(shown))
}

pub(crate) fn show(world: &World, id: &str) -> Reply {
    match world.listed().into_iter().find(|rental| rental.id() == id) {
        Some(rental) => Reply::json(200, &view::instance(world, rental)),
        None => no_such("Instance"),
    }
}

/// One id or several.
pub(crate) fn ids(body: &Value) -> Vec<String> {
    match body["id"].as_str() {
        Some(id) => vec![id.to_owned()],
        None => strings(&body["id"]),
    }
}

/// `PUT /instances {id, action, volume_ids, delete_permanently}`: all of them, or none.
pub(crate) fn act(world: &mut World, call: &Call<'_>) -> Reply {
    let body = &call.request.body;
    let ids = ids(body);
    let phases: Vec<_> = ids
        .iter()
        .map(|id| world.rental(id).map(|rental| rental.phase().clone()))
        .collect();
    if phases.is_empty() || phases.contains(&None) {
        return no_such("Instance");
    }
    let is_over = |phase: &Phase| matches!(phase, Phase::Ending { .. });
    if phases.iter().flatten().any(is_over) {
        let message = "Can't discontinue a discontinued instance";
        return refuse(403, "forbidden_action", message);
    }
    match body["action"].as_str() {
        Some("delete") => delete(world, call, &ids),
        Some("shutdown") => {
            for id in &ids {
                world.stop(id, Why::Asked);
            }
            accepted()
        }
        Some("start") => {
            let started = ids.iter().map(|id| world.start(id)).collect::<Vec<_>>();
            if started.iter().any(|it| matches!(it, Started::NoGpus)) {
                return super::refuse::sold_out();
            }
            accepted()
        }
        _ => invalid("action is unknown"),
    }
}

/// Volumes that aren't named stay, and so do those that are only moved to the trash.
fn delete(world: &mut World, call: &Call<'_>, ids: &[String]) -> Reply {
    if call.faults.contains(&Fault::DestroyRefused) {
        return server_error(500);
    }
    let persists = call.faults.iter().find_map(|fault| match fault {
        Fault::DeletePersists { seconds } => Some(*seconds),
        _ => None,
    });
    let now = world.now();
    if let Some(seconds) = persists {
        let lag = seconds.and_then(|seconds| i64::try_from(seconds).ok());
        for id in ids {
            if let Some(rental) = world.rental_mut(id) {
                rental.doomed_at = lag.map(|lag| now + TimeDelta::seconds(lag));
            }
        }
        return accepted();
    }
    let linger = TimeDelta::from_std(world.config.linger).unwrap_or(TimeDelta::MAX);
    for id in ids {
        world.destroy(id, Some(now + linger), false);
    }
    let body = &call.request.body;
    if body["delete_permanently"] == true {
        volumes::delete(world, &strings(&body["volume_ids"]));
    }
    accepted()
}

fn accepted() -> Reply {
    Reply::text(202, "")
}
