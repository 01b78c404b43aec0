//! The wire: routes, their rate limits, and the fields that are read.

use rust_decimal::Decimal;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::error::Operation;
use crate::http::{Call, Endpoint};
use crate::wire;

pub(super) const BASE_URL: &str = "https://console.vast.ai";

// The shortest intervals per endpoint and key that the vendor enforced in 2026; it calls them no contract.
const SEARCH: Endpoint = Endpoint::every("vast search", 6000);
const CREATE: Endpoint = Endpoint::every("vast create", 4500);
const SHOW: Endpoint = Endpoint::every("vast show", 2000);
const LIST: Endpoint = Endpoint::every("vast list", 1000);
const MANAGE: Endpoint = Endpoint::every("vast manage", 1000);
const DESTROY: Endpoint = Endpoint::every("vast destroy", 3000);
const KEYS: Endpoint = Endpoint::every("vast ssh", 1000);
const ACCOUNT: Endpoint = Endpoint::every("vast account", 1000);
const VOLUMES: Endpoint = Endpoint::every("vast volumes", 5500);

/// The most instances that one page holds, whatever is asked for.
pub(super) const PAGE: u32 = 25;

pub(super) fn search(operation: Operation, body: Value) -> Call {
    Call::post(operation, SEARCH, "/api/v0/bundles/").body(body)
}

pub(super) fn create(ask: &str, body: Value) -> Call {
    let path = format!("/api/v0/asks/{ask}/");
    Call::put(Operation::Rent, CREATE, path).body(body)
}

pub(super) fn show(operation: Operation, id: &str) -> Call {
    Call::get(operation, SHOW, instance_path(id)).query("owner", "me")
}

pub(super) fn list(after: Option<&str>) -> Call {
    let call = Call::get(Operation::List, LIST, "/api/v1/instances/");
    let call = call.query("limit", PAGE.to_string());
    match after {
        Some(token) => call.query("after_token", token),
        None => call,
    }
}

pub(super) fn set_state(operation: Operation, id: &str, state: &str) -> Call {
    Call::put(operation, MANAGE, instance_path(id)).body(json!({"state": state}))
}

pub(super) fn destroy(operation: Operation, id: &str) -> Call {
    Call::delete(operation, DESTROY, instance_path(id)).body(json!({}))
}

pub(super) fn attach_key(operation: Operation, id: &str, line: &str) -> Call {
    let path = format!("{}ssh/", instance_path(id));
    Call::post(operation, KEYS, path).body(json!({"ssh_key": line}))
}

pub(super) fn account(operation: Operation) -> Call {
    Call::get(operation, ACCOUNT, "/api/v0/users/current/")
}

pub(super) fn list_volumes() -> Call {
    Call::get(Operation::Volumes, VOLUMES, "/api/v0/volumes/").query("owner", "me")
}

pub(super) fn search_volumes(body: Value) -> Call {
    Call::post(Operation::Volumes, VOLUMES, "/api/v0/volumes/search/").body(body)
}

pub(super) fn create_volume(body: Value) -> Call {
    Call::put(Operation::Volumes, VOLUMES, "/api/v0/volumes/").body(body)
}

pub(super) fn delete_volume(id: &str) -> Call {
    Call::delete(Operation::Volumes, VOLUMES, "/api/v0/volumes/").query("id", id)
}

fn instance_path(id: &str) -> String {
    format!("/api/v0/instances/{id}/")
}

/// Whether a write was done. Without this field an answer proves nothing.
#[derive(Debug, Deserialize)]
pub(super) struct Done {
    pub(super) success: bool,
}

#[derive(Debug, Deserialize)]
pub(super) struct Created {
    pub(super) success: bool,
    #[serde(default, deserialize_with = "wire::optional_id")]
    pub(super) new_contract: Option<String>,
    pub(super) error: Option<String>,
    pub(super) msg: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Offers {
    /// One that can't be understood doesn't hide the others.
    pub(super) offers: Vec<Value>,
}

/// An offer, priced with the disk that the search named.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Ask {
    #[serde(deserialize_with = "wire::id")]
    pub(super) id: String,
    #[serde(default, deserialize_with = "wire::optional_id")]
    pub(super) machine_id: Option<String>,
    pub(super) gpu_name: String,
    pub(super) num_gpus: u32,
    /// MB of each GPU.
    #[serde(deserialize_with = "wire::decimal")]
    pub(super) gpu_ram: Decimal,
    pub(super) cpu_arch: Option<String>,
    pub(super) geolocation: Option<String>,
    #[serde(default, deserialize_with = "wire::optional_decimal")]
    pub(super) reliability2: Option<Decimal>,
    pub(super) verification: Option<String>,
    pub(super) hosting_type: Option<u32>,
    #[serde(default, deserialize_with = "wire::optional_decimal")]
    pub(super) cuda_max_good: Option<Decimal>,
    /// Mbit/s.
    #[serde(default, deserialize_with = "wire::optional_decimal")]
    pub(super) inet_down: Option<Decimal>,
    #[serde(default, deserialize_with = "wire::optional_decimal")]
    pub(super) inet_up: Option<Decimal>,
    /// $/GB.
    #[serde(default, deserialize_with = "wire::optional_decimal")]
    pub(super) inet_down_cost: Option<Decimal>,
    #[serde(default, deserialize_with = "wire::optional_decimal")]
    pub(super) inet_up_cost: Option<Decimal>,
    /// $/h of the GPUs alone.
    #[serde(deserialize_with = "wire::decimal")]
    pub(super) dph_base: Decimal,
    /// $/GB and month.
    #[serde(deserialize_with = "wire::decimal")]
    pub(super) storage_cost: Decimal,
    /// $/h for the disk that was asked for.
    #[serde(default, deserialize_with = "wire::optional_decimal")]
    pub(super) storage_total_cost: Option<Decimal>,
    /// GB.
    #[serde(default, deserialize_with = "wire::optional_decimal")]
    pub(super) disk_space: Option<Decimal>,
    /// Seconds until the host's own contract ends.
    #[serde(default, deserialize_with = "wire::optional_decimal")]
    pub(super) duration: Option<Decimal>,
    #[serde(default)]
    pub(super) is_bid: bool,
}

/// `null`, `[]`, or the one instance.
#[derive(Debug, Deserialize)]
pub(super) struct Shown {
    pub(super) instances: Value,
}

#[derive(Debug, Deserialize)]
pub(super) struct Page {
    pub(super) instances: Vec<Contract>,
    pub(super) instances_found: Option<usize>,
    pub(super) next_token: Option<String>,
}

/// An instance of the account.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Contract {
    #[serde(deserialize_with = "wire::id")]
    pub(super) id: String,
    pub(super) label: Option<String>,
    pub(super) actual_status: Option<String>,
    pub(super) intended_status: Option<String>,
    pub(super) cur_state: Option<String>,
    pub(super) status_msg: Option<String>,
    pub(super) ssh_host: Option<String>,
    pub(super) ssh_port: Option<u16>,
    pub(super) public_ipaddr: Option<String>,
    pub(super) ports: Option<Value>,
    pub(super) image_runtype: Option<String>,
    #[serde(default, deserialize_with = "wire::optional_decimal")]
    pub(super) start_date: Option<Decimal>,
    pub(super) num_gpus: Option<u32>,
    #[serde(default, deserialize_with = "wire::optional_decimal")]
    pub(super) dph_total: Option<Decimal>,
    #[serde(default, deserialize_with = "wire::optional_decimal")]
    pub(super) storage_total_cost: Option<Decimal>,
    #[serde(default, deserialize_with = "wire::optional_decimal")]
    pub(super) disk_space: Option<Decimal>,
}

#[derive(Debug, Deserialize)]
pub(super) struct User {
    #[serde(deserialize_with = "wire::id")]
    pub(super) id: String,
    #[serde(default, deserialize_with = "wire::optional_decimal")]
    pub(super) credit: Option<Decimal>,
}

#[derive(Debug, Deserialize)]
pub(super) struct VolumeList {
    pub(super) volumes: Vec<WireVolume>,
}

#[derive(Debug, Deserialize)]
pub(super) struct WireVolume {
    #[serde(deserialize_with = "wire::id")]
    pub(super) id: String,
    pub(super) label: Option<String>,
    #[serde(default, deserialize_with = "wire::optional_id")]
    pub(super) machine_id: Option<String>,
    #[serde(default, deserialize_with = "wire::optional_decimal")]
    pub(super) disk_space: Option<Decimal>,
    /// $/GB and month.
    #[serde(default, deserialize_with = "wire::optional_decimal")]
    pub(super) storage_cost: Option<Decimal>,
    #[serde(default, deserialize_with = "wire::optional_decimal")]
    pub(super) start_date: Option<Decimal>,
    #[serde(default)]
    pub(super) instances: Vec<Value>,
}

/// Disk that a machine lets on its own.
#[derive(Debug, Deserialize)]
pub(super) struct VolumeAsk {
    #[serde(deserialize_with = "wire::id")]
    pub(super) id: String,
    #[serde(default, deserialize_with = "wire::optional_decimal")]
    pub(super) disk_space: Option<Decimal>,
    #[serde(deserialize_with = "wire::decimal")]
    pub(super) storage_total_cost: Decimal,
}

#[derive(Debug, Deserialize)]
pub(super) struct VolumeCreated {
    pub(super) success: bool,
    #[serde(default, deserialize_with = "wire::optional_id")]
    pub(super) volume_id: Option<String>,
    #[serde(default, deserialize_with = "wire::optional_id")]
    pub(super) new_contract: Option<String>,
}
