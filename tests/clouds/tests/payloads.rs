//! What the simulators send has the fields, and the kinds of values, of the payloads that were recorded or documented.
//! The records lie beside the repository; without them these tests say that they are skipped.

use std::path::{Path, PathBuf};

use gpurun_clouds::lambda::Lambda;
use gpurun_clouds::vast::Vast;
use gpurun_clouds::{Cloud, SimConfig};
use serde_json::{Value, json};

fn record(name: &str) -> Option<Value> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let shared = std::env::var_os("GPURUN_SHARED").map_or(beside, PathBuf::from);
    let Ok(text) = std::fs::read_to_string(shared.join("data/provider-wire").join(name)) else {
        skip(name);
        return None;
    };
    Some(serde_json::from_str(&text).expect("a record is JSON"))
}

#[expect(clippy::print_stderr, reason = "a test that can't run says so")]
fn skip(name: &str) {
    eprintln!("skipped: no record {name}; GPURUN_SHARED names the folder");
}

/// Every field of the record is there, of the same kind unless one of the two is null.
fn same_shape(place: &str, record: &Value, ours: &Value) {
    match (record, ours) {
        (Value::Object(record), Value::Object(_)) => {
            for (name, value) in record {
                let found = ours
                    .get(name)
                    .unwrap_or_else(|| panic!("{place}.{name} is missing"));
                same_shape(&format!("{place}.{name}"), value, found);
            }
        }
        (Value::Array(record), Value::Array(ours)) => {
            if let (Some(record), Some(ours)) = (record.first(), ours.first()) {
                same_shape(&format!("{place}[0]"), record, ours);
            }
        }
        (Value::Null, _) | (_, Value::Null) => {}
        _ => assert_eq!(kind(record), kind(ours), "{place}: {record} and {ours}"),
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "truth",
        Value::Number(_) => "number",
        Value::String(_) => "text",
        Value::Array(_) => "list",
        Value::Object(_) => "object",
    }
}

fn ask(cloud: &Cloud, method: &str, path: &str, body: &Value) -> Value {
    cloud.ask(method, path, body).expect("an answer").value()
}

#[test]
fn vast_sends_what_was_recorded() {
    let cloud = Vast::start(SimConfig::default()).unwrap();
    let (Some(search), Some(show), Some(list)) = (
        record("vast_search_offers.json"),
        record("vast_show_instance.json"),
        record("vast_list_instances_v1.json"),
    ) else {
        return;
    };
    let offers = ask(
        &cloud,
        "POST",
        "/api/v0/bundles/",
        &search["request"]["body"],
    );
    assert!(!offers["offers"].as_array().unwrap().is_empty());
    same_shape("offers", &search["response"]["body"], &offers);
    let create = record("vast_create_instance.json").unwrap();
    let created = ask(
        &cloud,
        "PUT",
        "/api/v0/asks/4000108/",
        &create["request"]["body"],
    );
    same_shape("created", &create["response"]["body"], &created);
    let path = format!("/api/v0/instances/{}/?owner=me", created["new_contract"]);
    same_shape(
        "shown",
        &show["response"]["body"],
        &ask(&cloud, "GET", &path, &Value::Null),
    );
    let path = "/api/v1/instances/?limit=25";
    let mut record = list["response"]["body"].clone();
    record["label_counts"] = json!({});
    same_shape("listed", &record, &ask(&cloud, "GET", path, &Value::Null));
}

#[test]
fn lambda_sends_what_was_recorded() {
    let cloud = Lambda::start(SimConfig::default()).unwrap();
    let (Some(types), Some(launch), Some(states)) = (
        record("lambda_instance_types.json"),
        record("lambda_launch.json"),
        record("lambda_instance_states.json"),
    ) else {
        return;
    };
    let path = "/api/v1/instance-types";
    same_shape(
        "types",
        &types["response"]["body"],
        &ask(&cloud, "GET", path, &Value::Null),
    );
    let key = json!({"name": "gpurun", "public_key": "ssh-ed25519 AAAA"});
    ask(&cloud, "POST", "/api/v1/ssh-keys", &key);
    let path = "/api/v1/instance-operations/launch";
    let launched = ask(&cloud, "POST", path, &launch["request"]["body"]);
    same_shape("launched", &launch["response"]["body"], &launched);
    let id = launched["data"]["instance_ids"][0].as_str().unwrap();
    let shown = ask(
        &cloud,
        "GET",
        &format!("/api/v1/instances/{id}"),
        &Value::Null,
    );
    same_shape("shown", &states["states"]["active"], &shown["data"]);
}
