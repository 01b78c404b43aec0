//! `/v2/account/ssh-keys`: the whole list at once.

use serde_json::{Value, json};

use super::refuse::{invalid, refuse};
use crate::{Reply, Request, World};

pub(crate) fn answer(world: &mut World, request: &Request) -> Reply {
    match request.method.as_str() {
        "GET" => {}
        "PUT" => {
            let Some(lines) = request.body["keys"].as_array() else {
                return invalid("$: missing property 'keys'");
            };
            let lines: Vec<String> = lines
                .iter()
                .filter_map(|line| line.as_str().map(str::to_owned))
                .collect();
            world.keys.clear();
            for line in lines {
                world.add_key("", &line);
            }
        }
        _ => return refuse(404, "no route"),
    }
    let lines = world.keys.iter().map(|key| json!(key.line));
    Reply::json(200, &json!({"keys": Value::from_iter(lines)}))
}
