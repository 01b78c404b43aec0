//! Showing, changing and ending pods.

use chrono::TimeDelta;
use serde_json::{Value, json};

use super::refuse::{NO_GPUS, invalid, no_pod, refuse};
use super::view;
use crate::{Call, Fault, Reply, Request, Started, Why, World};

/// Filters and other parameters are taken and mean nothing.
pub(crate) fn list(world: &World) -> Reply {
    let pods = world
        .listed()
        .into_iter()
        .map(|rental| view::pod(world, rental));
    Reply::json(200, &json!({"pods": Value::from_iter(pods)}))
}

pub(crate) fn show(world: &World, id: &str) -> Reply {
    match world.listed().into_iter().find(|rental| rental.id() == id) {
        Some(rental) => Reply::json(200, &view::pod(world, rental)),
        None => no_pod(),
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

pub(crate) fn act(world: &mut World, call: &Call<'_>, id: &str) -> Reply {
    let Some(rental) = world.rental(id) else {
        return no_pod();
    };
    let status = view::status(rental);
    let conflict = || refuse(409, "action not valid for current status");
    match call.request.body["action"].as_str() {
        Some("terminate") => return terminate(world, call, id),
        Some("stop") if !stop(world, id) => return conflict(),
        Some("start") if status != "EXITED" => return conflict(),
        Some("start") if world.start(id) == Started::NoGpus => return refuse(400, NO_GPUS),
        Some("restart") if !world.reboot(id) => return conflict(),
        Some("stop" | "start" | "restart") => {}
        _ => {
            return invalid(
                "$.action: value must be one of 'start', 'stop', 'restart', 'terminate'",
            );
        }
    }
    show(world, id)
}

/// The container's disk is wiped with it; only volumes stay.
pub(crate) fn stop(world: &mut World, id: &str) -> bool {
    let stopped = world.stop(id, Why::Asked);
    if stopped {
        world.wipe(id);
    }
    stopped
}

pub(crate) fn terminate(world: &mut World, call: &Call<'_>, id: &str) -> Reply {
    let now = world.now();
    if world.rental(id).is_none() {
        return no_pod();
    }
    for fault in call.faults {
        match fault {
            Fault::DestroyRefused => {
                return refuse(500, "Something went wrong. Please try again later.");
            }
            Fault::DeletePersists { seconds } => {
                let lag = seconds.and_then(|seconds| i64::try_from(seconds).ok());
                if let Some(rental) = world.rental_mut(id) {
                    rental.doomed_at = lag.map(|lag| now + TimeDelta::seconds(lag));
                }
                return done();
            }
            _ => {}
        }
    }
    world.destroy(id, Some(now), false);
    done()
}

/// 204, which has no body.
pub(crate) fn done() -> Reply {
    Reply::text(204, "")
}
