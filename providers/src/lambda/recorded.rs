//! The payloads that were recorded or documented, read as the adapter reads them. They lie beside the repository; without
//! them these tests say that they are skipped.

use std::path::{Path, PathBuf};

use chrono::NaiveDate;
use gpurun_pricing::HourlyRate;
use serde_json::Value;

use super::api::{Data, Key, Launched, Machine, Terminated, Types};
use super::{convert, errors};
use crate::error::ErrorKind;
use crate::http::Reply;
use crate::instance::{Access, InstanceState};

fn record(name: &str) -> Option<Value> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared");
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

fn reply(recorded: &Value) -> Reply {
    Reply {
        status: recorded["status"]
            .as_u64()
            .and_then(|status| status.try_into().ok())
            .expect("a status"),
        text: recorded["body"].to_string(),
        retry_after: None,
    }
}

#[test]
fn types_become_offers_where_there_is_room() {
    let Some(record) = record("lambda_instance_types.json") else {
        return;
    };
    let found = reply(&record["response"]).json::<Data<Types>>();
    let types = found.expect("types").data;
    let today = NaiveDate::from_ymd_opt(2026, 12, 1).expect("a day");
    let offers: Vec<_> = types
        .values()
        .flat_map(|found| convert::offers(found, today))
        .collect();
    let rooms: usize = types
        .values()
        .map(|found| found.regions_with_capacity_available.len())
        .sum();
    assert!(rooms > 0, "the record has room somewhere");
    assert_eq!(offers.len(), rooms, "{offers:?}");
    for offer in &offers {
        let (kind, region) = convert::parse_offer(offer).expect("ours");
        assert!(types.contains_key(kind) && offer.region.as_deref() == Some(region));
        assert!(offer.card.running > HourlyRate::ZERO, "{offer:?}");
    }
}

#[test]
fn states_become_boxes() {
    let Some(record) = record("lambda_instance_states.json") else {
        return;
    };
    let of = |status: &str| {
        let recorded = record["states"][status].clone();
        let machine: Machine = serde_json::from_value(recorded).expect(status);
        convert::instance(&machine)
    };
    for (status, state) in [
        ("booting", InstanceState::Creating),
        ("active", InstanceState::Running),
        ("unhealthy", InstanceState::Broken),
        ("terminating", InstanceState::Destroying),
    ] {
        let found = of(status).expect(status);
        assert_eq!(found.state, state, "{status}");
        assert_eq!(found.label.as_deref(), Some("01j0synth"), "its tag");
        assert_eq!(found.access.is_some(), status == "active");
    }
    let Some(Access::Ssh(way_in)) = of("active").and_then(|found| found.access) else {
        panic!("no way in");
    };
    assert_eq!(way_in.user, "ubuntu");
    assert_eq!(way_in.endpoints[0].port, 22);
}

#[test]
fn launches_and_their_refusals_are_read() {
    let Some(record) = record("lambda_launch.json") else {
        return;
    };
    let launched = reply(&record["response"]).json::<Data<Launched>>();
    assert_eq!(launched.expect("launched").data.instance_ids.len(), 1);
    let refusals = record["other_responses"].as_array().expect("a list");
    assert!(!refusals.is_empty());
    for recorded in refusals {
        let found = errors::refusal(&reply(recorded)).expect("a refusal");
        let code = recorded["body"]["error"]["code"].as_str().expect("a code");
        let kind = match code {
            "instance-operations/launch/insufficient-capacity" => ErrorKind::NoCapacity,
            "global/quota-exceeded" | "global/account-inactive" => ErrorKind::Credit,
            "global/invalid-api-key" => ErrorKind::Credentials,
            "global/rate-limit?" => ErrorKind::RateLimited,
            _ => ErrorKind::InvalidRequest,
        };
        assert_eq!(found.kind, kind, "{code}");
        assert!(!found.kind.may_have_acted(), "{code}: nothing was made");
    }
}

#[test]
fn ends_and_keys_are_read() {
    if let Some(record) = record("lambda_terminate.json") {
        let ended = reply(&record["response"]).json::<Data<Terminated>>();
        let machine = ended.expect("ended").data.terminated_instances.remove(0);
        assert_eq!(machine.status, "terminating");
    }
    if let Some(record) = record("lambda_ssh_keys.json") {
        let listed = reply(&record["calls"][0]["response"]).json::<Data<Vec<Key>>>();
        assert_eq!(listed.expect("a list").data[0].name, "gpurun");
        let added = reply(&record["calls"][1]["response"]).json::<Data<Key>>();
        assert_eq!(added.expect("a key").data.id, "k1");
    }
}
