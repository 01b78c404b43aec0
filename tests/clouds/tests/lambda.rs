//! Lambda Cloud as a client sees it, and what it costs there.

use std::time::Duration;

use gpurun_clouds::lambda::Lambda;
use gpurun_clouds::{Cloud, Fault, SimConfig};
use rust_decimal_macros::dec;
use serde_json::{Value, json};

const LAUNCH: &str = "/api/v1/instance-operations/launch";
const TERMINATE: &str = "/api/v1/instance-operations/terminate";

fn cloud() -> Cloud {
    let config = SimConfig {
        boot: Duration::from_secs(90),
        ..SimConfig::default()
    };
    let cloud = Lambda::start(config).expect("a loopback port");
    let key = json!({"name": "laptop", "public_key": "ssh-ed25519 AAAA test"});
    assert_eq!(ask(&cloud, "POST", "/api/v1/ssh-keys", &key).0, 200);
    cloud
}

fn ask(cloud: &Cloud, method: &str, path: &str, body: &Value) -> (u16, Value) {
    let reply = cloud.ask(method, path, body).expect("an answer");
    (reply.status, reply.value())
}

fn body() -> Value {
    json!({"region_name": "us-east-1", "instance_type_name": "gpu_1x_a10", "ssh_key_names": ["laptop"], "name": "gpurun-1"})
}

fn launch(cloud: &Cloud) -> String {
    let (status, reply) = ask(cloud, "POST", LAUNCH, &body());
    assert_eq!(status, 200, "{reply}");
    reply["data"]["instance_ids"][0]
        .as_str()
        .expect("an id")
        .to_owned()
}

fn show(cloud: &Cloud, id: &str) -> (u16, Value) {
    let (status, reply) = ask(
        cloud,
        "GET",
        &format!("/api/v1/instances/{id}"),
        &Value::Null,
    );
    (status, reply["data"].clone())
}

#[test]
fn an_instance_is_billed_by_the_minute_until_it_is_terminated() {
    let cloud = cloud();
    let id = launch(&cloud);
    let booting = show(&cloud, &id).1;
    assert_eq!(
        (&booting["status"], booting.get("ip")),
        (&json!("booting"), None)
    );
    cloud.advance(Duration::from_secs(90));
    assert_eq!(show(&cloud, &id).1["status"], "active");
    assert!(show(&cloud, &id).1["ip"].is_string());
    cloud.advance(Duration::from_secs(601));
    let ids = json!({"instance_ids": [id]});
    assert_eq!(
        ask(&cloud, "POST", TERMINATE, &ids).1["data"]["terminated_instances"][0]["status"],
        "terminating"
    );
    // A second one fails in its own way.
    assert_eq!(
        ask(&cloud, "POST", TERMINATE, &ids).1["error"]["code"],
        "global/unknown"
    );
    cloud.advance(Duration::from_secs(40));
    assert_eq!(show(&cloud, &id).1["status"], "terminated");
    cloud.advance(Duration::from_secs(40));
    assert_eq!(show(&cloud, &id).0, 404);
    // 601 s are 11 minutes.
    assert_eq!(
        cloud.state().bill.round_dp(9),
        (dec!(1.29) * dec!(11) / dec!(60)).round_dp(9)
    );
}

#[test]
fn what_is_wrong_is_refused_in_its_words() {
    let cloud = cloud();
    let code = |change: Value| {
        let mut request = body();
        for (name, value) in change.as_object().expect("an object") {
            request[name] = value.clone();
        }
        let (status, reply) = ask(&cloud, "POST", LAUNCH, &request);
        (
            status,
            reply["error"]["code"]
                .as_str()
                .unwrap_or_default()
                .to_owned(),
        )
    };
    let invalid = (400, "global/invalid-parameters".to_owned());
    assert_eq!(
        code(json!({"ssh_key_names": ["laptop", "laptop"]})),
        invalid
    );
    assert_eq!(code(json!({"quantity": 2})), invalid);
    assert_eq!(code(json!({"name": "x".repeat(65)})), invalid);
    assert_eq!(
        code(json!({"ssh_key_names": ["other"]})),
        (404, "global/object-does-not-exist".to_owned())
    );
    let full = (
        400,
        "instance-operations/launch/insufficient-capacity".to_owned(),
    );
    assert_eq!(code(json!({"region_name": "europe-central-1"})), full);
    cloud.arm(Fault::OfferGone);
    assert_eq!(code(json!({})), full);
    let stranger = cloud
        .ask_with("other", "GET", "/api/v1/instances", &Value::Null)
        .expect("an answer");
    assert_eq!(stranger.status, 401);
    assert!(cloud.state().alive().is_empty());
}

#[test]
fn sold_out_regions_are_not_offered() {
    let cloud = cloud();
    let regions = |cloud: &Cloud| {
        let types = ask(cloud, "GET", "/api/v1/instance-types", &Value::Null).1;
        types["data"]["gpu_8x_h100_sxm5"]["regions_with_capacity_available"]
            .as_array()
            .map_or(0, Vec::len)
    };
    assert_eq!(regions(&cloud), 2);
    let mut request = body();
    request["instance_type_name"] = json!("gpu_8x_h100_sxm5");
    request["region_name"] = json!("us-west-1");
    assert_eq!(ask(&cloud, "POST", LAUNCH, &request).0, 200);
    assert_eq!(regions(&cloud), 1);
}

#[test]
fn a_file_system_stays_in_its_region() {
    let cloud = cloud();
    let made = ask(
        &cloud,
        "POST",
        "/api/v1/filesystems",
        &json!({"name": "runs", "region": "us-west-1"}),
    )
    .1;
    let id = made["data"]["id"].as_str().expect("an id").to_owned();
    let mut request = body();
    request["file_system_names"] = json!(["runs"]);
    let refused = ask(&cloud, "POST", LAUNCH, &request).1;
    assert_eq!(
        refused["error"]["code"],
        "instance-operations/launch/file-system-in-wrong-region"
    );
    request["region_name"] = json!("us-west-1");
    assert_eq!(ask(&cloud, "POST", LAUNCH, &request).0, 200);
    let path = format!("/api/v1/filesystems/{id}");
    assert_eq!(
        ask(&cloud, "DELETE", &path, &Value::Null).1["error"]["code"],
        "filesystems/filesystem-in-use"
    );
    assert_eq!(
        ask(&cloud, "GET", "/api/v1/file-systems", &Value::Null).1["data"][0]["is_in_use"],
        true
    );
}
