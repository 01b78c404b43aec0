//! Between its words and the contract's; pure.

use std::num::NonZeroU32;

use chrono::NaiveDate;
use gpurun_pricing::{
    CudaVersion, GigabyteMonthRate, GigabyteRate, Gigabytes, GpuRequest, HourlyRate, HoursPerMonth,
    Offer, RateCard, StopSupport,
};
use rust_decimal::Decimal;
use rust_decimal_macros::dec;

use super::NAME;
use super::api::{Gpu, NetworkVolume, Pod};
use crate::instance::{Access, Instance, InstanceState, SshAccess, SshEndpoint, SshEndpointKind};
use crate::volume::Volume;

/// The container's disk while the pod exists, as the price page of 2026-11-09 has it.
const DISK: GigabyteMonthRate = GigabyteMonthRate::new(dec!(0.10));

/// A network volume up to a terabyte, and what is above it.
const VOLUME: [GigabyteMonthRate; 2] = [
    GigabyteMonthRate::new(dec!(0.07)),
    GigabyteMonthRate::new(dec!(0.05)),
];
const TERABYTE: Gigabytes = Gigabytes::new(dec!(1000));

const MONTH: HoursPerMonth = HoursPerMonth::TWELFTH_OF_A_YEAR;

/// Whose machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cloud {
    Secure,
    Community,
}

impl Cloud {
    pub(super) const ALL: [Self; 2] = [Self::Secure, Self::Community];

    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Secure => "SECURE",
            Self::Community => "COMMUNITY",
        }
    }
}

/// What an offer's id stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place<'a> {
    pub(super) gpu: &'a str,
    pub(super) count: u32,
    pub(super) cloud: Cloud,
    pub(super) data_center: Option<&'a str>,
}

/// `NVIDIA GeForce RTX 4090x8@SECURE/US-KS-2`; `None` for what is no offer of here.
pub(super) fn parse_offer(offer: &Offer) -> Option<Place<'_>> {
    let (what, place) = offer
        .id
        .rsplit_once('@')
        .filter(|_| offer.provider == NAME)?;
    let (gpu, count) = what.rsplit_once('x')?;
    let (cloud, data_center) = match place.split_once('/') {
        Some((cloud, center)) => (cloud, Some(center)),
        None => (place, None),
    };
    Some(Place {
        gpu,
        count: count.parse().ok()?,
        cloud: Cloud::ALL.into_iter().find(|known| known.word() == cloud)?,
        data_center,
    })
}

/// One offer for each place that has stock; community machines are placed by the vendor.
pub(super) fn offers(gpu: &Gpu, cloud: Cloud, count: NonZeroU32, today: NaiveDate) -> Vec<Offer> {
    let (price, most) = match cloud {
        Cloud::Secure => (gpu.price.secure, gpu.max_count.secure),
        Cloud::Community => (gpu.price.community, gpu.max_count.community),
    };
    let named = GpuRequest::of_cards(&gpu.id, gpu.memory.saturating_mul(1024), count);
    let (Some(price), Some(named)) = (price, named) else {
        return Vec::new();
    };
    if most.is_some_and(|most| most < count.get()) || !in_stock(gpu.availability.as_ref()) {
        return Vec::new();
    }
    let centers: Vec<Option<&str>> = match cloud {
        Cloud::Secure if !gpu.data_centers.is_empty() => gpu
            .data_centers
            .iter()
            .filter(|center| in_stock(center.availability.as_ref()))
            .map(|center| Some(center.id.as_str()))
            .collect(),
        _ => vec![None],
    };
    let cuda = gpu.cuda_versions.iter();
    let cuda = cuda
        .filter_map(|text| text.parse::<CudaVersion>().ok())
        .max();
    centers
        .into_iter()
        .map(|center| {
            let place = match center {
                Some(center) => format!("{}/{center}", cloud.word()),
                None => cloud.word().to_owned(),
            };
            let id = format!("{}x{count}@{place}", gpu.id);
            let mut offer = Offer::new(NAME, id, named.clone(), card(price, count, gpu, today));
            offer.region = center.map(str::to_owned);
            offer.datacenter = Some(cloud == Cloud::Secure);
            offer.verified = Some(cloud == Cloud::Secure);
            offer.cuda = cuda;
            offer
        })
        .collect()
}

fn in_stock(availability: Option<&String>) -> bool {
    availability.is_none_or(|word| !word.eq_ignore_ascii_case("none"))
}

/// Per second from the create on, traffic free. A stop wipes the disk, so there is none.
fn card(price: Decimal, count: NonZeroU32, gpu: &Gpu, today: NaiveDate) -> RateCard {
    RateCard {
        running: HourlyRate::new(price * Decimal::from(count.get())),
        disk_running: DISK,
        disk_stopped: GigabyteMonthRate::ZERO,
        hours_per_month: MONTH,
        inbound: GigabyteRate::ZERO,
        outbound: GigabyteRate::ZERO,
        quantum_seconds: NonZeroU32::MIN,
        minimum_seconds: 0,
        stop: StopSupport::None,
        as_of: today,
        source: format!("runpod catalogue, {}", gpu.id),
    }
}

/// A pod; `None` once it is terminated.
pub(super) fn instance(pod: &Pod) -> Option<Instance> {
    let state = match pod.status.as_str() {
        "TERMINATED" => return None,
        "PROVISIONING" | "STARTING" => InstanceState::Creating,
        "RUNNING" => InstanceState::Running,
        "EXITED" => InstanceState::Stopped,
        _ => InstanceState::Broken,
    };
    let running = state == InstanceState::Running;
    let disk = pod.disk.map(Gigabytes::new);
    let disk_rate = disk.map_or(HourlyRate::ZERO, |disk| DISK.per_hour(disk, MONTH));
    // What the container has counts, where it says so: a pod can come up without the GPUs it was rented with.
    let present = pod.runtime.as_ref().and_then(|it| it.gpus.as_ref());
    let present = present.and_then(|gpus| u32::try_from(gpus.len()).ok());
    let gpus = present.or_else(|| pod.gpu.as_ref()?.count);
    Some(Instance {
        id: pod.id.clone(),
        label: pod.name.clone().filter(|name| !name.is_empty()),
        state,
        created_at: pod.created_at,
        state_since: None,
        access: access(pod).filter(|_| running),
        gpus: gpus.filter(|_| running),
        disk,
        price: match state {
            InstanceState::Stopped => Some(HourlyRate::ZERO),
            _ => pod.cost.map(|cost| HourlyRate::new(cost) + disk_rate),
        },
        message: (state == InstanceState::Broken).then(|| format!("it is {}", pod.status)),
    })
}

/// The mapped port alone: the vendor's proxy carries no files.
fn access(pod: &Pod) -> Option<Access> {
    let direct = pod.ssh.as_ref()?.direct.as_ref()?;
    let user = direct.username.as_deref().unwrap_or("root");
    Some(Access::Ssh(SshAccess {
        user: user.to_owned(),
        endpoints: vec![SshEndpoint {
            host: direct.host.clone(),
            port: direct.port,
            kind: SshEndpointKind::Direct,
        }],
    }))
}

pub(super) fn volume(found: NetworkVolume) -> Volume {
    let size = found.size.map(Gigabytes::new);
    Volume {
        id: found.id,
        name: found.name,
        place: found.data_center,
        size,
        created_at: found.created_at,
        attached_to: Vec::new(),
        price: size.map(volume_rate),
    }
}

/// By its size, filled or not; what is above a terabyte is cheaper.
pub(super) fn volume_rate(size: Gigabytes) -> HourlyRate {
    let first = size.min(TERABYTE);
    VOLUME[0].per_hour(first, MONTH) + VOLUME[1].per_hour(size - first, MONTH)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn gpu() -> Gpu {
        serde_json::from_value(json!({
            "id": "NVIDIA GeForce RTX 4090", "name": "RTX 4090", "memory": 24, "secure": true, "community": true,
            "price": {"secure": 0.69, "community": 0.34, "serverless": 1.1},
            "maxCount": {"secure": 8, "community": 4}, "availability": "HIGH", "cudaVersions": ["12.6", "12.8"],
            "dataCenters": [
                {"id": "US-KS-2", "name": "US Kansas 2", "availability": "HIGH"},
                {"id": "EU-RO-1", "name": "Romania", "availability": "NONE"},
            ],
        }))
        .expect("a GPU")
    }

    fn ids(cloud: Cloud, count: u32) -> Vec<String> {
        let today = NaiveDate::from_ymd_opt(2026, 12, 1).expect("a day");
        let count = NonZeroU32::new(count).expect("some");
        let offers = offers(&gpu(), cloud, count, today);
        offers.into_iter().map(|offer| offer.id).collect()
    }

    #[test]
    fn an_offer_is_a_type_a_count_and_a_place() {
        assert_eq!(
            ids(Cloud::Secure, 8),
            ["NVIDIA GeForce RTX 4090x8@SECURE/US-KS-2"],
            "where there is stock"
        );
        assert_eq!(
            ids(Cloud::Community, 2),
            ["NVIDIA GeForce RTX 4090x2@COMMUNITY"]
        );
        assert!(
            ids(Cloud::Community, 8).is_empty(),
            "no machine has as many"
        );
    }

    #[test]
    fn an_offers_id_is_read_back() {
        let today = NaiveDate::from_ymd_opt(2026, 12, 1).expect("a day");
        let count = NonZeroU32::new(8).expect("some");
        let offer = offers(&gpu(), Cloud::Secure, count, today).swap_remove(0);
        let place = parse_offer(&offer).expect("ours");
        assert_eq!((place.gpu, place.count), ("NVIDIA GeForce RTX 4090", 8));
        assert_eq!(
            (place.cloud, place.data_center),
            (Cloud::Secure, Some("US-KS-2"))
        );
        assert_eq!(offer.card.running.figure(), "5.5200");
        assert_eq!(offer.cuda, "12.8".parse().ok());
    }

    #[test]
    fn statuses_are_states() {
        let of = |status: &str, runtime: serde_json::Value| {
            let pod = json!({
                "id": "p1", "name": "gpurun-1", "status": status, "gpu": {"id": "x", "count": 2}, "disk": 73,
                "cost": 0.69, "createdAt": "2026-12-01T00:00:00Z", "runtime": runtime,
                "ssh": {"proxy": {"host": "ssh.runpod.io"}, "direct": {"host": "203.0.113.7", "port": 34446, "username": "root"}},
            });
            instance(&serde_json::from_value(pod).expect("a pod"))
        };
        let running = of("RUNNING", json!({"gpus": [{}, {}]})).expect("alive");
        assert_eq!(
            (running.state, running.gpus),
            (InstanceState::Running, Some(2))
        );
        assert_eq!(
            running.price.map(HourlyRate::figure).as_deref(),
            Some("0.7000")
        );
        assert!(running.access.is_some());
        let without = of("RUNNING", json!({"gpus": []})).expect("alive");
        assert_eq!(without.gpus, Some(0), "a start without GPUs is seen");
        let booting = of("PROVISIONING", json!(null)).expect("alive");
        assert_eq!(
            (booting.state, booting.access),
            (InstanceState::Creating, None)
        );
        assert_eq!(
            of("EXITED", json!(null)).expect("there").state,
            InstanceState::Stopped
        );
        assert_eq!(
            of("ERROR", json!(null)).expect("there").state,
            InstanceState::Broken
        );
        assert_eq!(of("TERMINATED", json!(null)), None);
    }

    #[test]
    fn a_large_volume_is_cheaper_above_a_terabyte() {
        let rate = |size| volume_rate(Gigabytes::new(size)).amount() * dec!(730);
        assert_eq!(rate(dec!(100)).round_dp(6), dec!(7));
        assert_eq!(rate(dec!(2000)).round_dp(6), dec!(120));
    }
}
