//! One instance: showing, changing, ending it.

use chrono::TimeDelta;
use rust_decimal_macros::dec;
use serde_json::{Value, json};

use super::refuse::{no_instance, refuse};
use super::view;
use crate::{Absence, Call, Fault, Phase, Reply, Request, Started, Why, World, decimal};

/// Gone or never there: 200 and null, or whatever else was seen of the vendor.
pub(crate) fn show(world: &World, call: &Call<'_>, id: &str) -> Reply {
    let listed = world.listed().into_iter().find(|rental| rental.id() == id);
    if let Some(rental) = listed {
        return Reply::json(200, &json!({"instances": view::instance(world, rental)}));
    }
    let shape = call.faults.iter().find_map(|fault| match fault {
        Fault::GoneAs { shape } => Some(*shape),
        _ => None,
    });
    match shape {
        None | Some(Absence::Null) => Reply::json(200, &json!({"instances": null})),
        Some(Absence::EmptyList) => Reply::json(200, &json!({"instances": []})),
        Some(Absence::NotFound) => no_instance(),
    }
}

pub(crate) fn change(world: &mut World, request: &Request, id: &str) -> Reply {
    if world.rental(id).is_none() {
        return no_instance();
    }
    match request.body["state"].as_str() {
        Some("stopped") => {
            world.stop(id, Why::Asked);
        }
        // The start of a box whose GPUs are taken is accepted, and waits.
        Some("running") if world.start(id) == Started::NoGpus => world.wait_for_gpus(id),
        Some("running") => {}
        Some(other) => return refuse(400, "invalid_args", &format!("invalid state {other}")),
        None => {}
    }
    if let Some(label) = request.body.get("label")
        && let Some(rental) = world.rental_mut(id)
    {
        rental.order.label = label.as_str().map(str::to_owned);
    }
    done()
}

pub(crate) fn manage(world: &mut World, request: &Request, verb: &str, id: &str) -> Reply {
    if verb != "bid_price" {
        return if world.reboot(id) {
            done()
        } else {
            no_instance()
        };
    }
    let bid = request.body.get("price").and_then(decimal);
    let Some(bid) = bid.filter(|bid| *bid >= dec!(0.001)) else {
        return refuse(400, "invalid_price", "Please set a bid price >= 0.001.");
    };
    let Some(rental) = world.rental_mut(id) else {
        return refuse(404, "not_found", "Instance with that ID does not exist.");
    };
    let mut rates = rental.rates().to_vec();
    for rate in rates.iter_mut().filter(|rate| rate.item == "gpu") {
        rate.hourly = bid;
    }
    let outbid = *rental.phase() == Phase::Stopped { why: Why::Outbid };
    let higher = rental.order.bid.replace(bid).is_some_and(|old| bid > old);
    world.reprice(id, rates);
    if outbid && higher {
        world.release_gpus(id);
        world.start(id);
    }
    done()
}

pub(crate) fn destroy(world: &mut World, call: &Call<'_>, id: &str) -> Reply {
    let now = world.now();
    if world.rental(id).is_none() {
        return no_instance();
    }
    for fault in call.faults {
        match fault {
            Fault::DestroyRefused => {
                return Reply::json(
                    200,
                    &json!({"success": false, "error": "busy", "msg": "try again"}),
                );
            }
            Fault::DeletePersists { seconds } => {
                let lag =
                    seconds.map(|seconds| TimeDelta::seconds(i64::try_from(seconds).unwrap_or(0)));
                if let Some(rental) = world.rental_mut(id) {
                    rental.doomed_at = lag.map(|lag| now + lag);
                }
                return destroyed();
            }
            _ => {}
        }
    }
    world.destroy(id, Some(now), false);
    destroyed()
}

fn destroyed() -> Reply {
    Reply::json(
        200,
        &json!({"success": true, "msg": "Instance destroyed successfully"}),
    )
}

fn done() -> Reply {
    Reply::json(200, &Value::from_iter([("success", true)]))
}
