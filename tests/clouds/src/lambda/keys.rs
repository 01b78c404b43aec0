//! `/ssh-keys`.

use serde_json::{Value, json};

use super::launch::strings;
use super::refuse::{invalid, no_such, refuse};
use super::vendor::data;
use crate::{AccountKey, Reply, Request, World};

pub(crate) fn answer(world: &mut World, request: &Request, rest: &[&str]) -> Reply {
    match (request.method.as_str(), rest) {
        ("GET", []) => data(&Value::from_iter(world.keys.iter().map(shown))),
        ("POST", []) => add(world, &request.body),
        ("DELETE", [id]) => delete(world, id),
        _ => no_such("Specified resource does not exist."),
    }
}

fn add(world: &mut World, body: &Value) -> Reply {
    let name = body["name"].as_str().unwrap_or_default();
    if name.is_empty() || name.len() > 64 {
        return invalid("name", "must be 1 to 64 characters");
    }
    // The vendor makes a key pair when it is given none; no client of ours wants that.
    let Some(line) = body["public_key"]
        .as_str()
        .filter(|line| line.starts_with("ssh-"))
    else {
        return invalid("public_key", "must be an OpenSSH public key");
    };
    if world.keys.iter().any(|key| key.name == name) {
        return refuse(
            400,
            "global/duplicate",
            "An SSH key with this name already exists.",
            "Use another name.",
        );
    }
    let key = AccountKey {
        id: format!("{:032x}", world.next_number()),
        name: name.to_owned(),
        line: line.to_owned(),
        created_at: world.now(),
    };
    let reply = data(&shown(&key));
    world.keys.push(key);
    reply
}

fn delete(world: &mut World, id: &str) -> Reply {
    let Some(key) = world.keys.iter().find(|key| key.id == id) else {
        return no_such("Specified SSH key does not exist.");
    };
    let in_use = world
        .rentals
        .iter()
        .filter(|rental| rental.phase().is_alive())
        .any(|rental| strings(&rental.order.details["ssh_key_names"]).contains(&key.name));
    if in_use {
        return refuse(
            400,
            "ssh-keys/key-in-use",
            "The SSH key is in use.",
            "Terminate its instances first.",
        );
    }
    world.keys.retain(|key| key.id != id);
    data(&json!({}))
}

fn shown(key: &AccountKey) -> Value {
    json!({"id": key.id, "name": key.name, "public_key": key.line})
}
