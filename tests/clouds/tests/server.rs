//! The server itself: the wire, the simulator's own routes, and what it keeps of a request.

use std::io::{Read, Write};
use std::net::TcpStream;

use gpurun_clouds::vast::Vast;
use gpurun_clouds::{Cloud, Fault, Operation, SimConfig};
use serde_json::{Value, json};

fn cloud() -> Cloud {
    Vast::start(SimConfig::default()).expect("a loopback port")
}

/// Everything that the server sends for one request on a connection of its own.
fn raw(cloud: &Cloud, request: &str) -> String {
    let address = cloud.url().trim_start_matches("http://");
    let mut stream = TcpStream::connect(address).expect("it listens");
    let text = format!(
        "{request}\r\nhost: {address}\r\nauthorization: Bearer {}\r\nconnection: close\r\n\r\n",
        cloud.key()
    );
    stream.write_all(text.as_bytes()).expect("it reads");
    let mut answer = String::new();
    // A cut connection may end with an error, too.
    let _ = stream.read_to_string(&mut answer);
    answer
}

fn sim(cloud: &Cloud, method: &str, path: &str, body: &Value) -> (u16, Value) {
    let reply = cloud.ask(method, path, body).expect("an answer");
    (reply.status, reply.value())
}

#[test]
fn a_cut_connection_answers_nothing() {
    let cloud = cloud();
    let list = "GET /api/v1/instances/ HTTP/1.1";
    assert!(raw(&cloud, list).starts_with("HTTP/1.1 200 OK"));
    for fault in ["drop_before_commit", "drop_after_commit"] {
        let (status, _) = sim(
            &cloud,
            "POST",
            "/_sim/faults",
            &json!({"fault": fault, "on": "list"}),
        );
        assert_eq!(status, 200);
        assert_eq!(raw(&cloud, list), "");
    }
    assert!(raw(&cloud, list).contains("\"success\":true"));
    assert_eq!(cloud.count(Operation::List), 4);
    assert_eq!(cloud.requests()[1].status, None);
}

#[test]
fn garbled_bodies_come_with_200() {
    let cloud = cloud();
    let list = "GET /api/v1/instances/ HTTP/1.1";
    cloud.arm(Fault::EmptyBody);
    assert!(raw(&cloud, list).ends_with("\r\n\r\n"));
    cloud.arm(Fault::HtmlBody);
    assert!(raw(&cloud, list).contains("<!DOCTYPE html>"));
    cloud.arm(Fault::TruncatedBody);
    let half = raw(&cloud, list);
    let body = half.split("\r\n\r\n").nth(1).expect("a body");
    assert!(body.starts_with('{') && serde_json::from_str::<Value>(body).is_err());
}

#[test]
fn faults_count_down_and_wait_their_turn() {
    let cloud = cloud();
    let show = || {
        cloud
            .ask("GET", "/api/v1/instances/", &Value::Null)
            .map(|reply| reply.status)
    };
    let armed =
        json!({"fault": "error_before_commit", "status": 503, "on": "list", "count": 2, "skip": 1});
    assert_eq!(sim(&cloud, "POST", "/_sim/faults", &armed).0, 200);
    let seen: Vec<_> = (0..4).map(|_| show()).collect();
    assert_eq!(seen, [Some(200), Some(503), Some(503), Some(200)]);
    let always =
        json!({"fault": "drop_before_commit", "on": "list", "count": null, "path": "/v1/"});
    sim(&cloud, "POST", "/_sim/faults", &always);
    assert_eq!([show(), show(), show()], [None, None, None]);
    sim(&cloud, "DELETE", "/_sim/faults", &Value::Null);
    assert_eq!(show(), Some(200));
    let (status, refused) = sim(&cloud, "POST", "/_sim/faults", &json!({"fault": "no such"}));
    assert_eq!(status, 400);
    assert!(
        refused["error"]
            .as_str()
            .is_some_and(|error| error.contains("unknown variant"))
    );
}

#[test]
fn time_passes_when_told_to() {
    let cloud = cloud();
    let before = cloud.now();
    assert_eq!(
        sim(&cloud, "POST", "/_sim/clock", &json!({"advance_s": 90})).0,
        200
    );
    assert_eq!(cloud.now() - before, chrono::TimeDelta::seconds(90));
    assert_eq!(
        sim(&cloud, "POST", "/_sim/clock", &json!({"advance_s": -1})).0,
        400
    );
}

#[test]
fn no_key_is_kept() {
    let cloud = Vast::start(SimConfig {
        key: "secret-of-the-account".to_owned(),
        ..SimConfig::default()
    })
    .expect("a port");
    raw(
        &cloud,
        "GET /api/v1/instances/?api_key=secret-of-the-account HTTP/1.1",
    );
    raw(&cloud, "GET /api/v0/users/current/ HTTP/1.1");
    for path in ["/_sim/state", "/_sim/requests", "/_sim/faults"] {
        let shown = sim(&cloud, "GET", path, &Value::Null).1.to_string();
        assert!(!shown.contains("secret-of"), "{path}: {shown}");
    }
    assert_eq!(cloud.requests().len(), 2);
}
