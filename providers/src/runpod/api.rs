//! The wire: routes, their rate limits, and the fields that are read.

use chrono::{DateTime, Utc};
use rust_decimal::Decimal;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::error::Operation;
use crate::http::{Call, Endpoint};
use crate::wire;

pub(super) const BASE_URL: &str = "https://api.runpod.io";

/// Sixty calls a minute.
const ANY: Endpoint = Endpoint::every("runpod", 1000);

pub(super) fn gpus(operation: Operation, cloud: &str, count: u32) -> Call {
    Call::get(operation, ANY, "/v2/catalog/gpus")
        .query("include", "AVAILABILITY")
        .query("product", "POD")
        .query("count", count.to_string())
        .query("cloud", cloud)
}

pub(super) fn create(body: Value) -> Call {
    Call::post(Operation::Rent, ANY, "/v2/pods").body(body)
}

pub(super) fn list(operation: Operation) -> Call {
    Call::get(operation, ANY, "/v2/pods")
}

pub(super) fn show(id: &str) -> Call {
    Call::get(Operation::Describe, ANY, format!("/v2/pods/{id}"))
}

pub(super) fn terminate(id: &str) -> Call {
    Call::delete(Operation::Destroy, ANY, format!("/v2/pods/{id}"))
}

pub(super) fn balance() -> Call {
    let query = "query { myself { id clientBalance currentSpendPerHr spendLimit } }";
    Call::post(Operation::Account, ANY, "/graphql").body(json!({"query": query}))
}

pub(super) fn list_volumes() -> Call {
    Call::get(Operation::Volumes, ANY, "/v2/network-volumes")
}

pub(super) fn create_volume(body: Value) -> Call {
    Call::post(Operation::Volumes, ANY, "/v2/network-volumes").body(body)
}

pub(super) fn delete_volume(id: &str) -> Call {
    Call::delete(Operation::Volumes, ANY, format!("/v2/network-volumes/{id}"))
}

#[derive(Debug, Deserialize)]
pub(super) struct Catalog {
    pub(super) gpus: Vec<Gpu>,
}

/// A GPU type, and where there is stock of as many as were asked for.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Gpu {
    pub(super) id: String,
    /// GB.
    pub(super) memory: u32,
    pub(super) price: Prices,
    #[serde(default, rename = "maxCount")]
    pub(super) max_count: MaxCount,
    pub(super) availability: Option<String>,
    #[serde(default, rename = "dataCenters")]
    pub(super) data_centers: Vec<DataCenter>,
    #[serde(default, rename = "cudaVersions")]
    pub(super) cuda_versions: Vec<String>,
}

/// $/h and GPU.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Prices {
    #[serde(default, deserialize_with = "wire::optional_decimal")]
    pub(super) secure: Option<Decimal>,
    #[serde(default, deserialize_with = "wire::optional_decimal")]
    pub(super) community: Option<Decimal>,
}

#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct MaxCount {
    pub(super) secure: Option<u32>,
    pub(super) community: Option<u32>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct DataCenter {
    pub(super) id: String,
    pub(super) availability: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Pods {
    pub(super) pods: Vec<Pod>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Pod {
    pub(super) id: String,
    pub(super) name: Option<String>,
    pub(super) status: String,
    pub(super) gpu: Option<PodGpu>,
    /// GB.
    #[serde(default, deserialize_with = "wire::optional_decimal")]
    pub(super) disk: Option<Decimal>,
    /// $/h of the whole pod without its disk; 0 while it isn't billed.
    #[serde(default, deserialize_with = "wire::optional_decimal")]
    pub(super) cost: Option<Decimal>,
    pub(super) ssh: Option<Ssh>,
    pub(super) runtime: Option<Runtime>,
    #[serde(rename = "createdAt")]
    pub(super) created_at: Option<DateTime<Utc>>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct PodGpu {
    pub(super) count: Option<u32>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Ssh {
    pub(super) direct: Option<Direct>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Direct {
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) username: Option<String>,
}

/// What the running container has.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Runtime {
    pub(super) gpus: Option<Vec<Value>>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Answer {
    pub(super) data: Option<Viewer>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Viewer {
    pub(super) myself: Option<Myself>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Myself {
    pub(super) id: Option<String>,
    #[serde(
        default,
        rename = "clientBalance",
        deserialize_with = "wire::optional_decimal"
    )]
    pub(super) balance: Option<Decimal>,
    #[serde(
        default,
        rename = "currentSpendPerHr",
        deserialize_with = "wire::optional_decimal"
    )]
    pub(super) burn: Option<Decimal>,
    #[serde(
        default,
        rename = "spendLimit",
        deserialize_with = "wire::optional_decimal"
    )]
    pub(super) limit: Option<Decimal>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Volumes {
    #[serde(rename = "networkVolumes")]
    pub(super) volumes: Vec<NetworkVolume>,
}

#[derive(Debug, Deserialize)]
pub(super) struct NetworkVolume {
    pub(super) id: String,
    pub(super) name: Option<String>,
    /// GB.
    #[serde(default, deserialize_with = "wire::optional_decimal")]
    pub(super) size: Option<Decimal>,
    #[serde(rename = "dataCenter", alias = "dataCenterId")]
    pub(super) data_center: Option<String>,
    #[serde(rename = "createdAt")]
    pub(super) created_at: Option<DateTime<Utc>>,
}
