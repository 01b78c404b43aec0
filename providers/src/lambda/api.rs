//! The wire: routes, their rate limits, and the fields that are read.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::error::Operation;
use crate::http::{Call, Endpoint};

pub(super) const BASE_URL: &str = "https://cloud.lambda.ai";

/// One call a second for everything, and a launch every 12 seconds.
const ANY: Endpoint = Endpoint::every("lambda", 1000);
const LAUNCH: Endpoint = Endpoint::every("lambda launch", 12_000);

pub(super) fn types(operation: Operation) -> Call {
    Call::get(operation, ANY, "/api/v1/instance-types")
}

pub(super) fn list(operation: Operation) -> Call {
    Call::get(operation, ANY, "/api/v1/instances")
}

pub(super) fn show(operation: Operation, id: &str) -> Call {
    Call::get(operation, ANY, format!("/api/v1/instances/{id}"))
}

pub(super) fn launch(body: Value) -> Call {
    let path = "/api/v1/instance-operations/launch";
    Call::post(Operation::Rent, LAUNCH, path)
        .also_counted(ANY)
        .body(body)
}

pub(super) fn terminate(id: &str) -> Call {
    let path = "/api/v1/instance-operations/terminate";
    Call::post(Operation::Destroy, ANY, path).body(json!({"instance_ids": [id]}))
}

pub(super) fn keys(operation: Operation) -> Call {
    Call::get(operation, ANY, "/api/v1/ssh-keys")
}

pub(super) fn add_key(name: &str, line: &str) -> Call {
    let body = json!({"name": name, "public_key": line});
    Call::post(Operation::Rent, ANY, "/api/v1/ssh-keys").body(body)
}

pub(super) fn delete_key(operation: Operation, id: &str) -> Call {
    Call::delete(operation, ANY, format!("/api/v1/ssh-keys/{id}"))
}

pub(super) fn list_volumes() -> Call {
    Call::get(Operation::Volumes, ANY, "/api/v1/file-systems")
}

pub(super) fn create_volume(body: Value) -> Call {
    Call::post(Operation::Volumes, ANY, "/api/v1/filesystems").body(body)
}

pub(super) fn delete_volume(id: &str) -> Call {
    Call::delete(Operation::Volumes, ANY, format!("/api/v1/filesystems/{id}"))
}

/// Every answer is inside of one.
#[derive(Debug, Deserialize)]
pub(super) struct Data<T> {
    pub(super) data: T,
}

pub(super) type Types = BTreeMap<String, TypeAndRegions>;

#[derive(Debug, Deserialize)]
pub(super) struct TypeAndRegions {
    pub(super) instance_type: InstanceType,
    pub(super) regions_with_capacity_available: Vec<Region>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct InstanceType {
    pub(super) name: String,
    /// `H100 (80 GB SXM5)`.
    #[serde(default)]
    pub(super) gpu_description: String,
    /// Of the whole machine.
    pub(super) price_cents_per_hour: u32,
    pub(super) specs: Specs,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Specs {
    pub(super) storage_gib: u32,
    pub(super) gpus: u32,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Region {
    pub(super) name: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct Launched {
    pub(super) instance_ids: Vec<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Terminated {
    pub(super) terminated_instances: Vec<Machine>,
}

/// An instance of the account.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Machine {
    pub(super) id: String,
    pub(super) name: Option<String>,
    pub(super) status: String,
    pub(super) ip: Option<String>,
    #[serde(default)]
    pub(super) ssh_key_names: Vec<String>,
    pub(super) instance_type: Option<InstanceType>,
    #[serde(default)]
    pub(super) tags: Vec<Tag>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Tag {
    pub(super) key: String,
    pub(super) value: String,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Key {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) public_key: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct FileSystem {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) region: Option<Region>,
    pub(super) created: Option<chrono::DateTime<chrono::Utc>>,
    #[serde(default)]
    pub(super) bytes_used: Option<u64>,
    #[serde(default)]
    pub(super) is_in_use: bool,
}
