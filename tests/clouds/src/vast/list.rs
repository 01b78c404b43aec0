//! `GET /api/v1/instances/`: 25 at a time.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::filter::passes;
use super::refuse::refuse;
use super::search::compare;
use super::view;
use crate::{Reply, Request, World};

/// The most that a page holds.
const PAGE: usize = 25;

pub(crate) fn answer(world: &World, request: &Request) -> Reply {
    let json_of = |name: &str| {
        let text = request.parameter(name).filter(|text| !text.is_empty());
        text.map_or(Ok(Value::Null), serde_json::from_str::<Value>)
    };
    let (Ok(filters), Ok(order), Ok(columns)) = (
        json_of("select_filters"),
        json_of("order_by"),
        json_of("select_cols"),
    ) else {
        return invalid("a parameter is not JSON");
    };
    let conditions = filters.as_object().cloned().unwrap_or_default();
    let all: Vec<Map<String, Value>> = world
        .listed()
        .into_iter()
        .map(|rental| view::instance(world, rental))
        .collect();
    let total = all.len();
    let mut found = Vec::new();
    for instance in all {
        match passes(&instance, &conditions) {
            Ok(true) => found.push(instance),
            Ok(false) => {}
            Err(field) => return invalid(&format!("{field} is not a valid search key")),
        }
    }
    for by in order.as_array().into_iter().flatten().rev() {
        let field = by["col"].as_str().unwrap_or("id");
        found.sort_by(|left, right| {
            let ordering = compare(left.get(field), right.get(field));
            if by["dir"] == "desc" {
                ordering.reverse()
            } else {
                ordering
            }
        });
    }
    let labels = labels(&found);
    let count = found.len();
    let skip = request.parameter("after_token").map_or(Ok(0), position);
    let Ok(skip) = skip else {
        return invalid("after_token is not one of ours");
    };
    let limit = request
        .parameter("limit")
        .and_then(|limit| limit.parse().ok())
        .unwrap_or(PAGE);
    let limit = limit.clamp(1, PAGE);
    let mut page: Vec<Map<String, Value>> = found.into_iter().skip(skip).take(limit).collect();
    let next = (skip + page.len() < count).then(|| format!("after-{}", skip + page.len()));
    if let Some(columns) = columns.as_array() {
        for instance in &mut page {
            instance.retain(|name, _| columns.iter().any(|column| column == name));
        }
    }
    Reply::json(
        200,
        &json!({
            "success": true, "instances_found": count, "total_instances": total,
            "label_counts": labels, "next_token": next, "instances": page,
        }),
    )
}

fn position(token: &str) -> Result<usize, std::num::ParseIntError> {
    token.strip_prefix("after-").unwrap_or_default().parse()
}

fn labels(instances: &[Map<String, Value>]) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for label in instances
        .iter()
        .filter_map(|instance| instance["label"].as_str())
    {
        *counts.entry(label.to_owned()).or_insert(0) += 1;
    }
    counts
}

fn invalid(what: &str) -> Reply {
    refuse(
        400,
        "invalid_request",
        &format!("Error in query parameters: {what}"),
    )
}
