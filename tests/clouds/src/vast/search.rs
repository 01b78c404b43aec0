//! `POST /bundles/` and `PUT /search/asks/`.

use std::cmp::Ordering;

use rust_decimal::Decimal;
use rust_decimal_macros::dec;
use serde_json::{Map, Value, json};

use super::filter::select;
use super::offer::Ask;
use super::refuse::refuse;
use crate::{Call, Fault, Reply, World, decimal};

/// Parameters beside the conditions.
const PARAMETERS: [&str; 6] = [
    "order",
    "type",
    "limit",
    "allocated_storage",
    "select_cols",
    "disable_bundling",
];

/// Without a limit the answer is cut here, and nothing says so.
const USUAL_LIMIT: usize = 64;

/// Disk that is priced when none is named, GB.
const USUAL_DISK: Decimal = dec!(10);

pub(crate) fn answer(world: &mut World, call: &Call<'_>) -> Reply {
    for fault in call.faults {
        if let Fault::PriceChange { percent } = fault {
            world.raise_prices(*percent);
        }
    }
    let Some(query) = query(call) else {
        return refuse(400, "invalid_request", "Invalid json body");
    };
    let disk = query
        .get("allocated_storage")
        .and_then(decimal)
        .unwrap_or(USUAL_DISK);
    let is_bid = matches!(
        query.get("type").and_then(Value::as_str),
        Some("bid" | "interruptible")
    );
    let mut conditions = query.clone();
    conditions.retain(|name, _| !PARAMETERS.contains(&name.as_str()));
    let now = world.now();
    let shown = Ask::all(&world.machines)
        .into_iter()
        .map(|ask| ask.view(disk, is_bid, now));
    let mut offers = match select(shown, &conditions) {
        Ok(offers) => offers,
        Err(refusal) => return refusal,
    };
    sort(&mut offers, query.get("order"));
    let limit = query
        .get("limit")
        .and_then(Value::as_u64)
        .map(usize::try_from);
    offers.truncate(limit.and_then(Result::ok).unwrap_or(USUAL_LIMIT));
    Reply::json(200, &json!({"offers": offers}))
}

pub(crate) fn gpu_names(world: &World) -> Reply {
    let mut names: Vec<&str> = world
        .machines
        .iter()
        .map(|machine| machine.model.as_str())
        .collect();
    names.sort_unstable();
    names.dedup();
    Reply::json(200, &json!({"gpu_names": names}))
}

/// The flat body, the body's `q`, or the query string's.
fn query(call: &Call<'_>) -> Option<Map<String, Value>> {
    let request = call.request;
    if let Some(text) = request.parameter("q") {
        return serde_json::from_str(text).ok();
    }
    let body = request.body.as_object()?;
    match body.get("q") {
        Some(inner) => inner.as_object().cloned(),
        None => Some(body.clone()),
    }
}

/// `[["dph_total", "asc"], …]`.
fn sort(offers: &mut [Map<String, Value>], order: Option<&Value>) {
    let Some(order) = order.and_then(Value::as_array) else {
        return;
    };
    offers.sort_by(|left, right| {
        for by in order {
            let (Some(field), direction) = (by[0].as_str(), by[1].as_str()) else {
                continue;
            };
            let ordering = compare(left.get(field), right.get(field));
            let ordering = if direction == Some("desc") {
                ordering.reverse()
            } else {
                ordering
            };
            if ordering.is_ne() {
                return ordering;
            }
        }
        Ordering::Equal
    });
}

pub(crate) fn compare(left: Option<&Value>, right: Option<&Value>) -> Ordering {
    match (left.and_then(decimal), right.and_then(decimal)) {
        (Some(left), Some(right)) => left.cmp(&right),
        _ => left.map(Value::to_string).cmp(&right.map(Value::to_string)),
    }
}
