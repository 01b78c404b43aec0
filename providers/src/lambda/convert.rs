//! Between its words and the contract's; pure.

use std::num::NonZeroU32;

use chrono::{DateTime, NaiveDate, Utc};
use gpurun_pricing::{
    GigabyteMonthRate, GigabyteRate, Gigabytes, GpuRequest, HourlyRate, HoursPerMonth, Offer,
    RateCard, StopSupport,
};
use rust_decimal::Decimal;

use super::NAME;
use super::api::{FileSystem, InstanceType, Machine, Region, TypeAndRegions};
use crate::instance::{Access, Instance, InstanceState, SshAccess, SshEndpoint, SshEndpointKind};
use crate::volume::Volume;

/// The tag that says which run a box is for; its name can be changed by anybody.
pub(super) const TAG: &str = "gpurun";

/// The tag that says when it was asked for, in seconds since 1970: nothing else there does.
pub(super) const TAG_AT: &str = "gpurun-at";

/// What a month of a gibibyte on a file system costs, as its price page of 2026-09-25 has it.
const FILE_SYSTEM: GigabyteMonthRate =
    GigabyteMonthRate::new(Decimal::from_parts(20, 0, 0, false, 2));

/// One offer for each region that has room.
pub(super) fn offers(found: &TypeAndRegions, today: NaiveDate) -> Vec<Offer> {
    let kind = &found.instance_type;
    let Some(gpu) = gpu(kind) else {
        return Vec::new();
    };
    let regions = found.regions_with_capacity_available.iter();
    regions
        .map(|Region { name: region }| {
            let id = format!("{}@{region}", kind.name);
            let mut offer = Offer::new(NAME, id, gpu.clone(), card(kind, today));
            offer.region = Some(region.clone());
            offer.datacenter = Some(true);
            offer.disk_available = Some(disk(kind));
            offer
        })
        .collect()
}

/// The type and the region that an offer stands for; `None` for one that isn't of here.
pub(super) fn parse_offer(offer: &Offer) -> Option<(&str, &str)> {
    offer.id.split_once('@').filter(|_| offer.provider == NAME)
}

/// `None` for what can't run our programs or has no name here, such as the aarch64 GH200.
fn gpu(kind: &InstanceType) -> Option<GpuRequest> {
    let Some(count) = NonZeroU32::new(kind.specs.gpus) else {
        return Some(GpuRequest::Cpu);
    };
    let named: GpuRequest = kind.gpu_description.parse().ok()?;
    (named != GpuRequest::Cpu).then(|| named.with_count(count))
}

fn disk(kind: &InstanceType) -> Gigabytes {
    Gigabytes::from_bytes(u64::from(kind.specs.storage_gib) << 30)
}

fn running(kind: &InstanceType) -> HourlyRate {
    HourlyRate::new(Decimal::new(i64::from(kind.price_cents_per_hour), 2))
}

/// By the minute, disk and traffic included, and no stop.
fn card(kind: &InstanceType, today: NaiveDate) -> RateCard {
    RateCard {
        running: running(kind),
        disk_running: GigabyteMonthRate::ZERO,
        disk_stopped: GigabyteMonthRate::ZERO,
        hours_per_month: HoursPerMonth::TWELFTH_OF_A_YEAR,
        inbound: GigabyteRate::ZERO,
        outbound: GigabyteRate::ZERO,
        quantum_seconds: NonZeroU32::MIN.saturating_add(59),
        minimum_seconds: 0,
        stop: StopSupport::None,
        as_of: today,
        source: format!("lambda instance type {}", kind.name),
    }
}

/// A box of the account; `None` once it is terminated, which it goes on being shown as.
pub(super) fn instance(machine: &Machine) -> Option<Instance> {
    let state = match machine.status.as_str() {
        "terminated" => return None,
        "booting" => InstanceState::Creating,
        "active" => InstanceState::Running,
        "terminating" => InstanceState::Destroying,
        _ => InstanceState::Broken,
    };
    let is_running = state == InstanceState::Running;
    let kind = machine.instance_type.as_ref();
    let endpoint = |host: &String| SshEndpoint {
        host: host.clone(),
        port: 22,
        kind: SshEndpointKind::Direct,
    };
    let ip = machine.ip.as_ref().filter(|_| is_running);
    Some(Instance {
        id: machine.id.clone(),
        label: label(machine),
        state,
        created_at: created_at(machine),
        state_since: None,
        access: ip.map(|host| {
            Access::Ssh(SshAccess {
                user: "ubuntu".to_owned(),
                endpoints: vec![endpoint(host)],
            })
        }),
        gpus: kind.map(|kind| kind.specs.gpus).filter(|_| is_running),
        disk: kind.map(disk),
        // Billed from the first passed health check to the terminate.
        price: match machine.status.as_str() {
            "booting" | "terminating" => Some(HourlyRate::ZERO),
            _ => kind.map(running),
        },
        message: (state == InstanceState::Broken).then(|| format!("it is {}", machine.status)),
    })
}

pub(super) fn label(machine: &Machine) -> Option<String> {
    tag(machine, TAG)
        .map(str::to_owned)
        .or_else(|| machine.name.clone())
        .filter(|label| !label.is_empty())
}

fn created_at(machine: &Machine) -> Option<DateTime<Utc>> {
    let seconds = tag(machine, TAG_AT)?.parse().ok()?;
    DateTime::from_timestamp(seconds, 0)
}

fn tag<'a>(machine: &'a Machine, key: &str) -> Option<&'a str> {
    let mut tags = machine.tags.iter();
    tags.find(|tag| tag.key == key)
        .map(|tag| tag.value.as_str())
}

pub(super) fn volume(found: FileSystem) -> Volume {
    let used = found.bytes_used.map(Gigabytes::from_bytes);
    let gibibytes = found
        .bytes_used
        .map(|bytes| Gigabytes::new(Decimal::from(bytes) / Decimal::from(1_u64 << 30)));
    Volume {
        id: found.id,
        name: Some(found.name),
        place: found.region.map(|region| region.name),
        size: used,
        created_at: found.created,
        attached_to: if found.is_in_use {
            vec!["a box of the account".to_owned()]
        } else {
            Vec::new()
        },
        price: gibibytes.map(|used| FILE_SYSTEM.per_hour(used, HoursPerMonth::TWELFTH_OF_A_YEAR)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn kind(name: &str, description: &str, gpus: u32) -> Value {
        json!({
            "name": name, "gpu_description": description, "price_cents_per_hour": 3192,
            "specs": {"vcpus": 208, "memory_gib": 1800, "storage_gib": 22528, "gpus": gpus},
        })
    }

    fn canonical(name: &str, description: &str, gpus: u32) -> Option<String> {
        let found = json!({
            "instance_type": kind(name, description, gpus),
            "regions_with_capacity_available": [{"name": "us-west-1", "description": "California, USA"}],
        });
        let found = serde_json::from_value(found).expect("a type");
        let today = NaiveDate::from_ymd_opt(2026, 12, 1).expect("a day");
        let offers = offers(&found, today);
        offers.first().map(|offer| offer.gpu.to_string())
    }

    #[test]
    fn types_have_canonical_names() {
        let is = |description, gpus, name: &str| {
            assert_eq!(canonical("t", description, gpus).as_deref(), Some(name));
        };
        is("H100 (80 GB SXM5)", 8, "h100-sxmx8");
        is("A100 (40 GB SXM4)", 1, "a100-40-sxmx1");
        is("A100 (80 GB SXM4)", 8, "a100-80-sxmx8");
        is("A10 (24 GB PCIe)", 1, "a10x1");
        is("B200 (180 GB SXM6)", 8, "b200x8");
        is("RTX A6000 (48 GB)", 4, "a6000x4");
        is("N/A", 0, "cpu");
        assert_eq!(canonical("gpu_1x_gh200", "GH200 (96 GB)", 1), None);
    }

    #[test]
    fn statuses_are_states() {
        let of = |status: &str| {
            let machine = json!({
                "id": "1", "name": "renamed", "status": status, "ip": "203.0.113.9",
                "instance_type": kind("t", "H100 (80 GB SXM5)", 8),
                "tags": [{"key": "gpurun", "value": "gpurun-1"}],
            });
            instance(&serde_json::from_value(machine).expect("a machine"))
        };
        let active = of("active").expect("alive");
        assert_eq!(
            (active.state, active.gpus),
            (InstanceState::Running, Some(8))
        );
        assert_eq!(
            active.label.as_deref(),
            Some("gpurun-1"),
            "whatever its name is now"
        );
        assert_eq!(
            active.price.map(HourlyRate::figure).as_deref(),
            Some("31.9200")
        );
        let booting = of("booting").expect("alive");
        assert_eq!(
            (booting.state, booting.access),
            (InstanceState::Creating, None)
        );
        assert_eq!(
            of("terminating").expect("listed").state,
            InstanceState::Destroying
        );
        assert_eq!(
            of("preempted").expect("listed").state,
            InstanceState::Broken
        );
        assert_eq!(of("terminated"), None);
        let new = of("migrating").expect("listed");
        assert_eq!(
            (new.state, new.message.as_deref()),
            (InstanceState::Broken, Some("it is migrating"))
        );
        assert_eq!(new.price, active.price, "nobody says that it is free");
    }
}
