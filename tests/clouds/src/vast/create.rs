//! `PUT /asks/{id}/`.

use chrono::TimeDelta;
use rust_decimal::Decimal;
use rust_decimal_macros::dec;
use serde_json::{Value, json};

use super::offer::Ask;
use super::refuse::{ask_gone, invalid_arguments, of_ask, unknown_ask};
use super::volumes;
use crate::{Call, Fault, Order, Rate, Reply, When, Why, World, decimal};

pub(crate) fn answer(world: &mut World, call: &Call<'_>, ask: &str) -> Reply {
    let body = &call.request.body;
    for fault in call.faults {
        if let Fault::PriceChange { percent } = fault {
            world.raise_prices(*percent);
        }
    }
    let Some(found) = ask
        .parse()
        .ok()
        .and_then(|id| Ask::find(&world.machines, id))
    else {
        return unknown_ask(ask);
    };
    let disk = body.get("disk").and_then(decimal).unwrap_or(dec!(10));
    if let Some(fault) = fault_in(body, disk, found) {
        return invalid_arguments(ask, &fault);
    }
    let bid = body.get("price").and_then(decimal);
    if bid.is_some_and(|bid| bid < found.lowest_bid() || bid > dec!(128)) {
        return of_ask(400, "invalid_price", "error 400/3468: bid too low", ask);
    }
    if world.balance() <= Decimal::ZERO {
        return of_ask(400, "insufficient_credit", "Your account lacks credit", ask);
    }
    let gone = !found.is_free() || call.faults.contains(&Fault::OfferGone);
    let waits = gone && body["cancel_unavail"] == false;
    if gone && !waits {
        return ask_gone(ask);
    }
    let ask_id = ask;
    let ask = (found.machine.id, found.gpus);
    let hourly = bid.unwrap_or_else(|| found.base());
    let volumes = match volumes::mounts(world, found.machine.id, &body["volume_info"]) {
        Ok(volumes) => volumes,
        Err(what) => return invalid_arguments(ask_id, &what),
    };
    let rates = vec![
        Rate {
            item: "gpu",
            hourly,
            when: When::Running,
        },
        Rate {
            item: "disk",
            hourly: found.disk(disk),
            when: When::Exists,
        },
    ];
    let id = rent(world, call, ask, &rates, (disk, bid), &volumes);
    if call.faults.contains(&Fault::DuplicateLabel) {
        rent(world, call, ask, &rates, (disk, bid), &volumes);
    }
    if waits {
        world.stop(&id, Why::Asked);
        world.wait_for_gpus(&id);
    }
    if call.faults.contains(&Fault::FailedCreateLeavesBox) {
        world.stop(&id, Why::Outbid);
        let contract: u64 = id.parse().unwrap_or_default();
        return Reply::json(
            200,
            &json!({"success": false, "error": "bid_failed", "msg": "bid too low", "new_contract": contract}),
        );
    }
    let key = world
        .rental(&id)
        .map(|rental| rental.order.details["instance_api_key"].clone());
    Reply::json(
        200,
        &json!({"success": true, "new_contract": id.parse::<u64>().ok(), "instance_api_key": key}),
    )
}

fn rent(
    world: &mut World,
    call: &Call<'_>,
    (machine, gpus): (u64, u32),
    rates: &[Rate],
    (disk, bid): (Decimal, Option<Decimal>),
    volumes: &[(String, String)],
) -> String {
    let body = &call.request.body;
    let id = (24_500_000 + world.next_number()).to_string();
    let key = format!("box-{id}-{:016x}", fastrand::u64(..));
    let pairs = body["env"].as_object().into_iter().flatten();
    let mut environment: Vec<(String, String)> = pairs
        .filter(|(name, _)| !name.starts_with("-p "))
        .map(|(name, value)| (name.clone(), value.as_str().unwrap_or_default().to_owned()))
        .collect();
    environment.push(("CONTAINER_ID".to_owned(), id.clone()));
    environment.push(("CONTAINER_API_KEY".to_owned(), key.clone()));
    environment.push(("VAST_CONTAINERLABEL".to_owned(), format!("C.{id}")));
    let order = Order {
        id: id.clone(),
        label: body["label"].as_str().map(str::to_owned),
        machine,
        gpus,
        disk_gb: disk,
        rates: rates.to_vec(),
        granularity: TimeDelta::seconds(1),
        keys: world.keys.iter().map(|key| key.line.clone()).collect(),
        user: "root",
        environment,
        bid,
        volumes: volumes.to_vec(),
        details: json!({
            "instance_api_key": key, "image": body["image"], "runtype": body["runtype"],
            "onstart": body["onstart"], "env": body["env"],
        }),
    };
    world.rent(order, call.faults);
    id
}

/// What the vendor documents as refused.
fn fault_in(body: &Value, disk: Decimal, ask: Ask<'_>) -> Option<String> {
    let length = |name: &str| body[name].as_str().map_or(0, str::len);
    if body["image"].as_str().is_none_or(str::is_empty) && body["template_hash_id"].is_null() {
        return Some("image is required".to_owned());
    }
    let limits = [("image", 1024), ("onstart", 4096), ("label", 256)];
    if let Some((name, most)) = limits.into_iter().find(|(name, most)| length(name) > *most) {
        return Some(format!("{name} is longer than {most} characters"));
    }
    if disk < dec!(8) || disk > ask.machine.disk_gb {
        return Some(format!("disk must be 8 to {} GB", ask.machine.disk_gb));
    }
    let environment = body["env"].as_object()?;
    if environment.keys().any(|name| name.len() > 256) {
        return Some("a name in env is longer than 256 characters".to_owned());
    }
    let sum: usize = environment
        .iter()
        .map(|(name, value)| name.len() + value.as_str().map_or(0, str::len))
        .sum();
    (sum > 32_768).then(|| "env is longer than 32768 characters".to_owned())
}
