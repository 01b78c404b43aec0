//! `/_sim/…`: the simulator's own routes, which no vendor has.

use std::time::Duration;

use rust_decimal::Decimal;
use serde_json::json;

use super::{Armed, Charge, Reply, Request, State, World};

/// Answers a request to `/_sim/`.
///
/// - `GET /_sim/state`: boxes, bill, balance
/// - `GET /_sim/requests`: every request so far
/// - `POST /_sim/clock {"advance_s": 3600}`
/// - `POST /_sim/faults {"fault": …, "on"?, "path"?, "count"?, "skip"?}`; `DELETE` disarms all; `POST /_sim/strike {"fault": …, "box"?}` lets it happen now
/// - `POST /_sim/release {"box"}`: whoever took a stopped box's GPUs gives them back
/// - `POST /_sim/traffic {"box", "in_gb"?, "out_gb"?}`
pub(crate) fn answer(world: &mut World, request: &Request) -> Reply {
    let segments = request.segments();
    match (request.method.as_str(), segments.get(1).copied()) {
        ("GET", Some("state")) => {
            world.settle();
            Reply::json(200, &json!(State::of(world)))
        }
        ("GET", Some("requests")) => Reply::json(200, &json!(world.log)),
        ("GET", Some("faults")) => Reply::json(200, &json!(world.faults)),
        ("DELETE", Some("faults")) => {
            world.faults.clear();
            done(world)
        }
        ("POST", Some("clock")) => advance(world, request),
        ("POST", Some("faults")) => arm(world, request, |world, armed, _| world.faults.arm(armed)),
        ("POST", Some("strike")) => arm(world, request, |world, armed, target| {
            world.strike(&armed.fault, target);
        }),
        ("POST", Some("release")) => release(world, request),
        ("POST", Some("traffic")) => traffic(world, request),
        _ => {
            refused("the simulator has /_sim/{state,requests,clock,faults,strike,release,traffic}")
        }
    }
}

fn advance(world: &mut World, request: &Request) -> Reply {
    let seconds = request
        .body
        .get("advance_s")
        .and_then(serde_json::Value::as_f64);
    let Some(by) = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()) else {
        return refused("`advance_s` must be a number of seconds, 0 or more");
    };
    world.advance(by);
    done(world)
}

fn arm(
    world: &mut World,
    request: &Request,
    act: impl FnOnce(&mut World, Armed, Option<&str>),
) -> Reply {
    let target = request.body.get("box").and_then(serde_json::Value::as_str);
    match serde_json::from_value::<Armed>(request.body.clone()) {
        Ok(armed) => {
            act(world, armed, target);
            done(world)
        }
        Err(error) => refused(&error.to_string()),
    }
}

fn release(world: &mut World, request: &Request) -> Reply {
    let Some(id) = request.body.get("box").and_then(serde_json::Value::as_str) else {
        return refused("`box` must be the id of a box");
    };
    world.release_gpus(id);
    done(world)
}

fn traffic(world: &mut World, request: &Request) -> Reply {
    let amount = |name: &str| {
        let value = request.body.get(name).and_then(serde_json::Value::as_f64);
        value
            .and_then(|value| Decimal::try_from(value).ok())
            .unwrap_or_default()
    };
    let Some(id) = request.body.get("box").and_then(serde_json::Value::as_str) else {
        return refused("`box` must be the id of a box");
    };
    if world.carry(id, amount("in_gb"), amount("out_gb")) {
        return done(world);
    }
    refused("there is no such box")
}

fn done(world: &World) -> Reply {
    Reply::json(200, &json!({"now": world.now()}))
}

fn refused(why: &str) -> Reply {
    Reply::json(400, &json!({"error": why}))
}

impl World {
    /// Traffic of a box, GB of 10⁹ bytes each way, at its machine's prices.
    pub fn carry(&mut self, id: &str, inbound: Decimal, outbound: Decimal) -> bool {
        let at = self.now();
        let Some(rental) = self.rental(id) else {
            return false;
        };
        let machine = self.machine(rental.order.machine);
        let prices = machine.map(|machine| (machine.inbound, machine.outbound));
        let (price_in, price_out) = prices.unwrap_or_default();
        if let Some(rental) = self.rental_mut(id) {
            let charges = [
                ("traffic_in", inbound * price_in),
                ("traffic_out", outbound * price_out),
            ];
            let new = charges.into_iter().filter(|(_, amount)| !amount.is_zero());
            rental
                .charges
                .extend(new.map(|(item, amount)| Charge { item, amount, at }));
        }
        true
    }
}
