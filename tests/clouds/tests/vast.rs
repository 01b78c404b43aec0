//! Vast.ai as a client sees it, and what it costs there.

use std::time::Duration;

use gpurun_clouds::vast::Vast;
use gpurun_clouds::{Absence, Armed, Cloud, Fault, Operation, Phase, SimConfig, TooMany};
use rust_decimal_macros::dec;
use serde_json::{Value, json};

const ASK: &str = "/api/v0/asks/4000101/";

fn cloud() -> Cloud {
    Vast::start(SimConfig {
        boot: Duration::from_secs(60),
        ..SimConfig::default()
    })
    .expect("a loopback port")
}

fn body() -> Value {
    json!({"image": "pytorch/pytorch:2.4.0", "disk": 72, "label": "gpurun-1", "runtype": "ssh_direct",
        "cancel_unavail": true, "env": {}})
}

fn rent(cloud: &Cloud) -> String {
    let reply = cloud.ask("PUT", ASK, &body()).expect("an answer");
    assert_eq!(reply.status, 200, "{}", reply.body);
    reply.value()["new_contract"].to_string()
}

fn instance(cloud: &Cloud, id: &str) -> Value {
    let path = format!("/api/v0/instances/{id}/?owner=me");
    cloud
        .ask("GET", &path, &Value::Null)
        .expect("an answer")
        .value()["instances"]
        .clone()
}

fn put_state(cloud: &Cloud, id: &str, state: &str) {
    let path = format!("/api/v0/instances/{id}/");
    let reply = cloud
        .ask("PUT", &path, &json!({"state": state}))
        .expect("an answer");
    assert_eq!(reply.value()["success"], true);
}

fn delete(cloud: &Cloud, id: &str) -> Value {
    let path = format!("/api/v0/instances/{id}/");
    cloud
        .ask("DELETE", &path, &json!({}))
        .expect("an answer")
        .value()
}

#[test]
fn a_box_lives_and_is_billed() {
    let cloud = cloud();
    let id = rent(&cloud);
    assert_eq!(instance(&cloud, &id)["actual_status"], Value::Null);
    cloud.advance(Duration::from_secs(60));
    assert_eq!(instance(&cloud, &id)["actual_status"], "running");
    cloud.advance(Duration::from_secs(3600));
    put_state(&cloud, &id, "stopped");
    cloud.advance(Duration::from_secs(3540));
    assert_eq!(instance(&cloud, &id)["cur_state"], "stopped");
    put_state(&cloud, &id, "running");
    cloud.advance(Duration::from_secs(60 + 1800));
    assert_eq!(delete(&cloud, &id)["success"], true);
    cloud.advance(Duration::from_secs(100_000));
    assert_eq!(instance(&cloud, &id), Value::Null);
    let state = cloud.state();
    // 1.5 h of GPU at 0.35, loading free; 2.5 h and a minute of 72 GB at 0.15 a month of 720 h.
    let bill = &state.boxes[0].bill;
    assert_eq!(bill["gpu"], dec!(0.525));
    assert_eq!(
        bill["disk"].round_dp(6),
        (dec!(0.015) * dec!(9060) / dec!(3600)).round_dp(6)
    );
    assert!(state.alive().is_empty());
}

#[test]
fn the_disk_asked_for_is_priced_in() {
    let cloud = cloud();
    let query = json!({"gpu_name": {"eq": "RTX 4090"}, "num_gpus": {"eq": "8"}, "gpu_ram": {"lt": 30000},
        "order": [["dph_total", "asc"]], "type": "on-demand", "allocated_storage": 72.0});
    let offers = cloud
        .ask("POST", "/api/v0/bundles/", &query)
        .unwrap()
        .value()["offers"]
        .clone();
    assert_eq!(offers.as_array().unwrap().len(), 2);
    assert_eq!(offers[0]["id"], 4_000_108);
    assert_eq!(offers[0]["dph_base"], 2.8);
    assert_eq!(offers[0]["dph_total"], 2.815);
}

#[test]
fn a_cut_connection_after_a_create_leaves_the_box() {
    let cloud = cloud();
    cloud.arm(Fault::DropAfterCommit);
    assert!(cloud.ask("PUT", ASK, &body()).is_none());
    assert_eq!(cloud.state().alive().len(), 1);
    cloud.arm(Armed::once(Fault::DropBeforeCommit));
    assert!(cloud.ask("PUT", ASK, &body()).is_none());
    assert_eq!(cloud.state().alive().len(), 1);
    assert_eq!(cloud.count(Operation::Create), 2);
}

#[test]
fn gpus_taken_meanwhile_are_waited_for() {
    let cloud = cloud();
    let id = rent(&cloud);
    cloud.advance(Duration::from_secs(60));
    cloud.arm(Fault::GpusTakenAfterStop);
    put_state(&cloud, &id, "stopped");
    put_state(&cloud, &id, "running");
    let waiting = instance(&cloud, &id);
    assert_eq!(
        (&waiting["intended_status"], &waiting["cur_state"]),
        (&json!("running"), &json!("stopped"))
    );
    cloud.with(|world| world.release_gpus(&id));
    assert_eq!(instance(&cloud, &id)["actual_status"], "loading");
}

#[test]
fn twenty_five_are_listed_at_a_time() {
    let cloud = cloud();
    cloud.with(|world| {
        world.machines[0].free = 40;
        world.machines[0].gpus = 40;
    });
    for _ in 0..30 {
        rent(&cloud);
    }
    let page = |token: &str| {
        let path = format!("/api/v1/instances/?limit=100{token}");
        cloud.ask("GET", &path, &Value::Null).unwrap().value()
    };
    let first = page("");
    assert_eq!(first["instances"].as_array().unwrap().len(), 25);
    assert_eq!(first["instances_found"], 30);
    let token = first["next_token"].as_str().unwrap();
    let second = page(&format!("&after_token={token}"));
    assert_eq!(second["instances"].as_array().unwrap().len(), 5);
    assert_eq!(second["next_token"], Value::Null);
}

#[test]
fn a_wrong_key_is_not_found_and_a_box_key_does_little() {
    let cloud = cloud();
    let created = cloud.ask("PUT", ASK, &body()).unwrap().value();
    let id = created["new_contract"].to_string();
    let own = created["instance_api_key"].as_str().unwrap();
    let path = format!("/api/v0/instances/{id}/");
    let wrong = cloud
        .ask_with("no such key", "DELETE", &path, &json!({}))
        .unwrap();
    assert_eq!(
        (wrong.status, &wrong.value()["error"]),
        (404, &json!("auth_error"))
    );
    let other = cloud
        .ask_with(own, "GET", "/api/v1/instances/", &Value::Null)
        .unwrap();
    assert_eq!(other.status, 403);
    let ended = cloud.ask_with(own, "DELETE", &path, &json!({})).unwrap();
    assert_eq!(ended.status, 200);
    assert!(cloud.state().alive().is_empty());
}

#[test]
fn a_delete_may_lie() {
    let cloud = cloud();
    let id = rent(&cloud);
    cloud.advance(Duration::from_secs(60));
    cloud.arm(Fault::DestroyRefused);
    assert_eq!(delete(&cloud, &id)["success"], false);
    cloud.arm(Fault::DeletePersists { seconds: Some(600) });
    assert_eq!(delete(&cloud, &id)["success"], true);
    assert_eq!(instance(&cloud, &id)["actual_status"], "running");
    cloud.advance(Duration::from_secs(3600));
    assert_eq!(instance(&cloud, &id), Value::Null);
    // It cost money for the ten minutes that it stayed, and no longer.
    assert_eq!(
        cloud.state().boxes[0].bill["gpu"].round_dp(9),
        (dec!(0.35) / dec!(6)).round_dp(9)
    );
}

#[test]
fn published_limits_are_enforced_where_asked() {
    let cloud = Vast::start(SimConfig {
        rate_limits: true,
        ..SimConfig::default()
    })
    .unwrap();
    let list = || {
        cloud
            .ask("GET", "/api/v1/instances/", &Value::Null)
            .unwrap()
    };
    assert_eq!(list().status, 200);
    let refused = list();
    assert_eq!(refused.status, 429);
    assert_eq!(
        refused.body,
        "API requests too frequent endpoint threshold=1.0"
    );
    cloud.advance(Duration::from_secs(1));
    assert_eq!(list().status, 200);
    cloud.advance(Duration::from_secs(1));
    cloud.arm(Armed::once(Fault::TooManyRequests {
        form: TooMany::RetryAfter,
    }));
    assert!(
        list()
            .headers
            .iter()
            .any(|(name, _)| *name == "retry-after")
    );
}

#[test]
fn an_empty_account_stops_its_boxes() {
    let cloud = cloud();
    let id = rent(&cloud);
    cloud.advance(Duration::from_secs(60));
    cloud.strike(&Fault::CreditExhausted, None);
    assert_eq!(instance(&cloud, &id)["actual_status"], "stopped");
    let refused = cloud.ask("PUT", ASK, &body()).unwrap();
    assert_eq!(refused.value()["error"], "insufficient_credit");
    assert!(matches!(
        cloud.state().boxes[0].phase,
        Phase::Stopped { .. }
    ));
}

#[test]
fn money_runs_out_at_its_own_moment() {
    let config = SimConfig {
        credit: dec!(0.73),
        ..SimConfig::default()
    };
    let cloud = Vast::start(config).expect("a loopback port");
    let id = rent(&cloud);
    // 0.365 an hour with the disk: enough for two hours, however late anybody looks.
    cloud.advance(Duration::from_secs(10 * 3600));
    assert_eq!(instance(&cloud, &id)["actual_status"], "stopped");
    let state = cloud.state();
    assert_eq!(state.boxes[0].bill["gpu"].round_dp(6), dec!(0.7));
    assert_eq!(
        state.boxes[0].since - state.boxes[0].created_at,
        chrono::TimeDelta::hours(2)
    );
}

#[test]
fn what_is_gone_is_shown_in_three_ways() {
    let cloud = cloud();
    let path = "/api/v0/instances/7/";
    let show = |shape| {
        cloud.arm(Fault::GoneAs { shape });
        let reply = cloud.ask("GET", path, &Value::Null).expect("an answer");
        (reply.status, reply.value()["instances"].clone())
    };
    assert_eq!(show(Absence::Null), (200, Value::Null));
    assert_eq!(show(Absence::EmptyList), (200, json!([])));
    assert_eq!(show(Absence::NotFound).0, 404);
}

#[test]
fn a_volume_stays_on_its_machine_and_costs() {
    let cloud = cloud();
    let query = json!({"machine_id": {"eq": 40001}, "allocated_storage": 72});
    let offers = cloud
        .ask("POST", "/api/v0/volumes/search/", &query)
        .expect("an answer")
        .value();
    let ask = &offers["offers"][0]["id"];
    let made = cloud
        .ask(
            "PUT",
            "/api/v0/volumes/",
            &json!({"id": ask, "size": 72, "name": "runs"}),
        )
        .expect("an answer");
    let volume = made.value()["volume_id"].clone();
    let mut request = body();
    request["volume_info"] =
        json!({"create_new": false, "volume_id": volume, "mount_path": "/runs"});
    let elsewhere = cloud
        .ask("PUT", "/api/v0/asks/4000201/", &request)
        .expect("an answer");
    assert_eq!(elsewhere.status, 400);
    let id =
        cloud.ask("PUT", ASK, &request).expect("an answer").value()["new_contract"].to_string();
    cloud.advance(Duration::from_secs(3600));
    assert_eq!(
        instance(&cloud, &id)["volume_info"][0]["mount_path"],
        "/runs"
    );
    let path = format!("/api/v0/volumes/?id={volume}");
    assert_eq!(
        cloud
            .ask("DELETE", &path, &Value::Null)
            .expect("an answer")
            .status,
        400
    );
    delete(&cloud, &id);
    let before = cloud.state().bill;
    cloud.advance(Duration::from_secs(3600));
    assert_eq!((cloud.state().bill - before).round_dp(9), dec!(0.015));
    assert_eq!(
        cloud
            .ask("DELETE", &path, &Value::Null)
            .expect("an answer")
            .status,
        200
    );
    assert_eq!(cloud.state().burn, dec!(0));
}

#[test]
fn who_is_outbid_stops_and_who_bids_more_goes_on() {
    let cloud = cloud();
    let mut request = body();
    request["price"] = json!(0.2);
    assert_eq!(
        cloud.ask("PUT", ASK, &request).expect("an answer").value()["error"],
        "invalid_price"
    );
    request["price"] = json!(0.25);
    let id =
        cloud.ask("PUT", ASK, &request).expect("an answer").value()["new_contract"].to_string();
    cloud.advance(Duration::from_secs(60 + 3600));
    cloud.strike(&Fault::Outbid, Some(&id));
    let stopped = instance(&cloud, &id);
    assert_eq!(
        (&stopped["intended_status"], &stopped["is_bid"]),
        (&json!("stopped"), &json!(true))
    );
    assert_eq!(instance(&cloud, &id)["cur_state"], "stopped");
    cloud.advance(Duration::from_secs(3600));
    let path = format!("/api/v0/instances/bid_price/{id}/");
    cloud
        .ask("PUT", &path, &json!({"client_id": "me", "price": 0.3}))
        .expect("an answer");
    cloud.advance(Duration::from_secs(60 + 3600));
    assert_eq!(instance(&cloud, &id)["actual_status"], "running");
    // An hour at each bid, and nothing for the hour in between.
    assert_eq!(cloud.state().boxes[0].bill["gpu"].round_dp(9), dec!(0.55));
}
