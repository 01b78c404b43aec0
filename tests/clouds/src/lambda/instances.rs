//! Showing, restarting and ending instances.

use chrono::TimeDelta;
use serde_json::{Value, json};

use super::launch::strings;
use super::refuse::{internal_error, no_such, refuse};
use super::vendor::data;
use super::view;
use crate::{Call, Fault, Phase, Reply, Request, World};

const UNKNOWN: &str = "Specified instance does not exist.";

pub(crate) fn list(world: &World) -> Reply {
    let all = world
        .listed()
        .into_iter()
        .map(|rental| view::instance(world, rental));
    data(&Value::from_iter(all))
}

pub(crate) fn show(world: &World, id: &str) -> Reply {
    match world.listed().into_iter().find(|rental| rental.id() == id) {
        Some(rental) => data(&view::instance(world, rental)),
        None => no_such(UNKNOWN),
    }
}

pub(crate) fn rename(world: &mut World, request: &Request, id: &str) -> Reply {
    if let Some(rental) = world.rental_mut(id)
        && let Some(name) = request.body["name"].as_str()
    {
        rental.order.label = Some(name.to_owned());
    }
    show(world, id)
}

pub(crate) fn restart(world: &mut World, request: &Request) -> Reply {
    let ids = strings(&request.body["instance_ids"]);
    if ids.iter().any(|id| world.rental(id).is_none()) {
        return no_such(UNKNOWN);
    }
    for id in &ids {
        world.reboot(id);
    }
    data(&json!({"restarted_instances": shown(world, &ids)}))
}

/// All or none: one unknown id and nothing is ended.
pub(crate) fn terminate(world: &mut World, call: &Call<'_>) -> Reply {
    let ids = strings(&call.request.body["instance_ids"]);
    let phases: Vec<_> = ids
        .iter()
        .map(|id| world.rental(id).map(|it| it.phase().clone()))
        .collect();
    if phases.is_empty() || phases.contains(&None) {
        return no_such(UNKNOWN);
    }
    if phases
        .iter()
        .flatten()
        .any(|phase| matches!(phase, Phase::Ending { .. }))
    {
        return refuse(400, "global/unknown", "An unknown error occurred.", "");
    }
    if call.faults.contains(&Fault::DestroyRefused) {
        return internal_error(500);
    }
    let persists = call.faults.iter().find_map(|fault| match fault {
        Fault::DeletePersists { seconds } => Some(*seconds),
        _ => None,
    });
    let now = world.now();
    let linger = TimeDelta::from_std(world.config.linger).unwrap_or(TimeDelta::MAX);
    for id in &ids {
        match persists {
            Some(seconds) => {
                let lag = seconds
                    .and_then(|seconds| i64::try_from(seconds).ok())
                    .map(TimeDelta::seconds);
                if let Some(rental) = world.rental_mut(id) {
                    rental.doomed_at = lag.map(|lag| now + lag);
                }
            }
            // Not billed from the call on, and listed for a while.
            None => {
                world.destroy(id, Some(now + linger), false);
            }
        }
    }
    data(&json!({"terminated_instances": shown(world, &ids)}))
}

fn shown(world: &World, ids: &[String]) -> Vec<Value> {
    let rentals = ids.iter().filter_map(|id| world.rental(id));
    rentals
        .map(|rental| view::instance(world, rental))
        .collect()
}
