//! `/sshkeys`.

use serde_json::{Value, json};

use super::create::{strings, uuid};
use super::refuse::{invalid, no_such};
use crate::{AccountKey, Reply, Request, World};

pub(crate) fn answer(world: &mut World, request: &Request, rest: &[&str]) -> Reply {
    match (request.method.as_str(), rest) {
        ("GET", []) => Reply::json(200, &Value::from_iter(world.keys.iter().map(shown))),
        ("POST", []) => add(world, &request.body),
        ("DELETE", []) => delete(world, &strings(&request.body["keys"])),
        ("DELETE", [id]) => delete(world, &[(*id).to_owned()]),
        _ => no_such("Route"),
    }
}

fn add(world: &mut World, body: &Value) -> Reply {
    let (name, line) = (body["name"].as_str(), body["key"].as_str());
    let (Some(name), Some(line)) = (name, line.filter(|line| line.starts_with("ssh-"))) else {
        return invalid("name and key are required");
    };
    let key = AccountKey {
        id: uuid(world),
        name: name.to_owned(),
        line: line.to_owned(),
        created_at: world.now(),
    };
    let reply = Reply::text(201, &key.id);
    world.keys.push(key);
    reply
}

fn delete(world: &mut World, ids: &[String]) -> Reply {
    if ids
        .iter()
        .any(|id| !world.keys.iter().any(|key| key.id == *id))
    {
        return no_such("SSH key");
    }
    world.keys.retain(|key| !ids.contains(&key.id));
    Reply::text(200, "")
}

fn shown(key: &AccountKey) -> Value {
    json!({"id": key.id, "name": key.name, "key": key.line})
}
