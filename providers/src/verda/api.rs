//! The wire: routes, and the fields that are read. No rate limit is published; a 429 is waited for.

use chrono::{DateTime, Utc};
use rust_decimal::Decimal;
use secrecy::SecretString;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::error::Operation;
use crate::http::{Call, Endpoint};
use crate::wire;

pub(super) const BASE_URL: &str = "https://api.verda.com/v1";

/// The vendor's Ubuntu with a driver and CUDA.
const IMAGE: &str = "ubuntu-24.04-cuda-12.8-open-docker";

const ANY: Endpoint = Endpoint::every("verda", 0);

pub(super) fn token(operation: Operation) -> Call {
    Call::post(operation, ANY, "/oauth2/token").body(json!({"grant_type": "client_credentials"}))
}

pub(super) fn types(operation: Operation) -> Call {
    Call::get(operation, ANY, "/instance-types").query("currency", "usd")
}

pub(super) fn availability(operation: Operation) -> Call {
    Call::get(operation, ANY, "/instance-availability").query("isSpot", "false")
}

pub(super) fn volume_types(operation: Operation) -> Call {
    Call::get(operation, ANY, "/volume-types")
}

pub(super) fn list(operation: Operation) -> Call {
    Call::get(operation, ANY, "/instances")
}

pub(super) fn show(operation: Operation, id: &str) -> Call {
    Call::get(operation, ANY, format!("/instances/{id}"))
}

/// What is ordered.
pub(super) struct Order<'a> {
    pub(super) kind: &'a str,
    pub(super) location: &'a str,
    pub(super) label: &'a str,
    pub(super) key: &'a str,
    /// GB.
    pub(super) disk: u64,
    /// Says what the API shows of no box: its disk.
    pub(super) description: &'a str,
}

pub(super) fn create(order: &Order<'_>) -> Call {
    let body = json!({
        "instance_type": order.kind,
        "image": IMAGE,
        "ssh_key_ids": [order.key],
        "hostname": order.label,
        "description": order.description,
        "location_code": order.location,
        "os_volume": {"name": order.label, "size": order.disk},
        "is_spot": false,
    });
    Call::post(Operation::Rent, ANY, "/instances").body(body)
}

/// What a delete doesn't name stays, and costs.
pub(super) fn delete(id: &str, volume: Option<&str>) -> Call {
    let volumes: Vec<&str> = volume.into_iter().collect();
    let body = json!({
        "id": [id], "action": "delete", "volume_ids": volumes, "delete_permanently": true,
    });
    Call::put(Operation::Destroy, ANY, "/instances").body(body)
}

pub(super) fn keys(operation: Operation) -> Call {
    Call::get(operation, ANY, "/sshkeys")
}

pub(super) fn add_key(name: &str, line: &str) -> Call {
    Call::post(Operation::Rent, ANY, "/sshkeys").body(json!({"name": name, "key": line}))
}

pub(super) fn delete_key(operation: Operation, id: &str) -> Call {
    Call::delete(operation, ANY, format!("/sshkeys/{id}"))
}

pub(super) fn balance() -> Call {
    Call::get(Operation::Account, ANY, "/balance")
}

#[derive(Deserialize)]
pub(super) struct Granted {
    #[serde(deserialize_with = "wire::secret")]
    pub(super) access_token: SecretString,
    /// Seconds.
    pub(super) expires_in: u64,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct InstanceType {
    /// `1H100.80S.32V`.
    pub(super) instance_type: String,
    #[serde(deserialize_with = "wire::decimal")]
    pub(super) price_per_hour: Decimal,
    pub(super) gpu: Gpus,
    pub(super) gpu_memory: Option<Memory>,
    #[serde(default)]
    pub(super) model: String,
    #[serde(default)]
    pub(super) name: String,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Gpus {
    #[serde(default)]
    pub(super) description: String,
    pub(super) number_of_gpus: u32,
}

#[derive(Clone, Copy, Debug, Deserialize)]
pub(super) struct Memory {
    /// Of all GPUs together.
    #[serde(deserialize_with = "wire::decimal")]
    pub(super) size_in_gigabytes: Decimal,
}

#[derive(Debug, Deserialize)]
pub(super) struct Room {
    pub(super) location_code: String,
    pub(super) availabilities: Vec<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct VolumeType {
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) price: VolumePrice,
}

#[derive(Debug, Deserialize)]
pub(super) struct VolumePrice {
    #[serde(deserialize_with = "wire::decimal")]
    pub(super) price_per_month_per_gb: Decimal,
}

/// An instance of the account.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Machine {
    pub(super) id: String,
    pub(super) hostname: Option<String>,
    pub(super) description: Option<String>,
    pub(super) status: String,
    pub(super) created_at: Option<DateTime<Utc>>,
    pub(super) ip: Option<String>,
    pub(super) os_volume_id: Option<String>,
    #[serde(default, deserialize_with = "wire::optional_decimal")]
    pub(super) price_per_hour: Option<Decimal>,
    pub(super) gpu: Option<Gpus>,
    #[serde(default)]
    pub(super) ssh_key_ids: Vec<String>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Key {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) key: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct Balance {
    #[serde(deserialize_with = "wire::decimal")]
    pub(super) amount: Decimal,
    #[serde(default)]
    pub(super) currency: String,
}

/// The id that a create answers: a UUID, bare or as JSON.
pub(super) fn new_id(text: &str) -> Option<String> {
    let text = text.trim();
    let quoted = serde_json::from_str::<Value>(text).ok();
    let id = quoted
        .as_ref()
        .and_then(Value::as_str)
        .unwrap_or(text)
        .to_owned();
    // Half of an id is another box's, or nobody's: only a whole one counts.
    let is_hexadecimal = |group: &str| group.chars().all(|letter| letter.is_ascii_hexdigit());
    let groups: Vec<&str> = id.split('-').collect();
    let lengths: Vec<usize> = groups.iter().map(|group| group.len()).collect();
    let is_whole = lengths == [8, 4, 4, 4, 12] && groups.into_iter().all(is_hexadecimal);
    is_whole.then_some(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_plain_text_and_a_page_is_none() {
        let id = "11111111-2222-3333-4444-555555555550";
        assert_eq!(new_id(id).as_deref(), Some(id));
        assert_eq!(new_id(&format!("\"{id}\"\n")).as_deref(), Some(id));
        assert_eq!(new_id("<html>busy</html>"), None);
        assert_eq!(new_id(&id[..18]), None, "a torn answer");
        assert_eq!(new_id(""), None);
    }
}
