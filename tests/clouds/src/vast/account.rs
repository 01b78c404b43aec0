//! The account: its money and its keys.

use chrono::{DateTime, Utc};
use serde_json::{Value, json};

use super::refuse::{no_instance, no_route, refuse};
use crate::{AccountKey, Reply, Request, World, number};

pub(crate) fn current(world: &World) -> Reply {
    Reply::json(
        200,
        &json!({
            "id": 1, "key_id": 9, "email": "user@example.invalid", "credit": number(world.balance().round_dp(4)),
            "balance": 0.0, "ssh_key": "", "sid": "s", "host_agreement_accepted": null,
        }),
    )
}

pub(crate) fn charges(world: &World) -> Reply {
    let now = world.now();
    let results: Vec<Value> = world
        .rentals
        .iter()
        .map(|rental| {
            let items = rental.bill(now).into_iter().map(|(item, amount)| {
                let item = match item {
                    "traffic_in" => "bwd",
                    "traffic_out" => "bwu",
                    other => other,
                };
                json!({"type": item, "amount": number(amount)})
            });
            json!({
                "type": "instance", "source": format!("instance-{}", rental.id()),
                "amount": number(rental.total(now)), "start": rental.created_at.timestamp(),
                "end": now.timestamp(), "items": items.collect::<Vec<_>>(),
            })
        })
        .collect();
    Reply::json(
        200,
        &json!({"success": true, "count": results.len(), "total": results.len(), "next_token": null, "results": results}),
    )
}

/// `/ssh/…`: what every new instance gets.
pub(crate) fn keys(world: &mut World, request: &Request, rest: &[&str]) -> Reply {
    match (request.method.as_str(), rest) {
        ("GET", []) => {
            let keys: Vec<Value> = world.keys.iter().map(shown).collect();
            Reply::json(200, &json!(keys))
        }
        ("POST", []) => {
            let Some(line) = line_of(request) else {
                return refuse(400, "invalid_args", "ssh_key must be an OpenSSH public key");
            };
            let key = AccountKey {
                id: (70 + world.next_number()).to_string(),
                name: String::new(),
                line,
                created_at: world.now(),
            };
            let reply = json!({"success": true, "key": {
                "id": key.id.parse::<u64>().ok(), "user_id": 1, "public_key": key.line,
                "created_at": stamp(key.created_at), "deleted_at": null,
            }});
            world.keys.push(key);
            Reply::json(200, &reply)
        }
        ("DELETE", [id]) => {
            let before = world.keys.len();
            world.keys.retain(|key| key.id != *id);
            if world.keys.len() == before {
                return refuse(404, "not_found", "no such key");
            }
            Reply::json(200, &json!({"success": true}))
        }
        _ => no_route(&request.path),
    }
}

/// `/instances/{id}/ssh/…`: what one instance has.
pub(crate) fn box_keys(world: &mut World, request: &Request, id: &str, rest: &[&str]) -> Reply {
    let Some(rental) = world.rental(id) else {
        return no_instance();
    };
    let mut lines = rental.order.keys.clone();
    match (request.method.as_str(), rest) {
        ("GET", []) => {
            let keys = lines
                .iter()
                .enumerate()
                .map(|(index, line)| json!({"id": index + 1, "name": "", "public_key": line}));
            // A list in a string in JSON.
            let text = Value::from_iter(keys).to_string();
            Reply::json(200, &json!({"success": true, "ssh_keys": text}))
        }
        ("POST", []) => {
            let Some(line) = line_of(request) else {
                return refuse(400, "invalid_args", "ssh_key must be an OpenSSH public key");
            };
            if !lines.contains(&line) {
                lines.push(line);
            }
            world.set_keys(id, lines);
            Reply::json(
                200,
                &json!({"success": true, "msg": "SSH key attached successfully"}),
            )
        }
        ("DELETE", [key]) => {
            let index = key
                .parse::<usize>()
                .ok()
                .and_then(|number| number.checked_sub(1));
            let Some(index) = index.filter(|index| *index < lines.len()) else {
                return refuse(404, "not_found", "no such key");
            };
            lines.remove(index);
            world.set_keys(id, lines);
            Reply::json(200, &json!({"success": true}))
        }
        _ => no_route(&request.path),
    }
}

fn line_of(request: &Request) -> Option<String> {
    let line = request.body["ssh_key"].as_str()?.trim();
    let known = ["ssh-", "ecdsa-", "sk-"]
        .iter()
        .any(|kind| line.starts_with(kind));
    known.then(|| line.to_owned())
}

fn shown(key: &AccountKey) -> Value {
    json!({
        "id": key.id.parse::<u64>().ok(), "user_id": 1, "key": key.line,
        "created_at": stamp(key.created_at), "deleted_at": null,
    })
}

fn stamp(at: DateTime<Utc>) -> String {
    at.format("%Y-%m-%dT%H:%M:%SZ").to_string()
}
