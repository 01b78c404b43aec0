//! Between its words and the contract's; pure.

use std::num::NonZeroU32;

use chrono::NaiveDate;
use gpurun_pricing::{
    GigabyteMonthRate, GigabyteRate, Gigabytes, GpuRequest, HourlyRate, HoursPerMonth, Offer,
    RateCard, StopSupport,
};
use rust_decimal::prelude::ToPrimitive;
use rust_decimal::{Decimal, RoundingStrategy};

use super::NAME;
use super::api::{InstanceType, Machine, Room, VolumeType};
use crate::instance::{Access, Instance, InstanceState, SshAccess, SshEndpoint, SshEndpointKind};

/// What a box's own disk is made of.
const OS_VOLUME: &str = "NVMe";

/// The vendor publishes no step for the API's machines; ten minutes is the longest that it was ever reported to bill by.
const QUANTUM_SECONDS: u32 = 600;

/// What a GB of a box's own disk costs a month; `None` where the vendor doesn't say.
pub(super) fn disk_rate(types: &[VolumeType]) -> Option<GigabyteMonthRate> {
    let found = types.iter().find(|found| found.kind == OS_VOLUME)?;
    Some(GigabyteMonthRate::new(found.price.price_per_month_per_gb))
}

/// One offer for each type in each location that has room for it.
pub(super) fn offers(
    types: &[InstanceType],
    room: &[Room],
    disk: GigabyteMonthRate,
    today: NaiveDate,
) -> Vec<Offer> {
    let at = |place: &Room| {
        let here = types
            .iter()
            .filter(|kind| place.availabilities.contains(&kind.instance_type));
        let offers = here.filter_map(|kind| offer(kind, &place.location_code, disk, today));
        offers.collect::<Vec<_>>()
    };
    room.iter().flat_map(at).collect()
}

fn offer(
    kind: &InstanceType,
    place: &str,
    disk: GigabyteMonthRate,
    today: NaiveDate,
) -> Option<Offer> {
    let id = format!("{}@{place}", kind.instance_type);
    let mut offer = Offer::new(NAME, id, gpu(kind)?, card(kind, disk, today));
    offer.region = Some(place.to_owned());
    offer.datacenter = Some(true);
    Some(offer)
}

/// The type and the location that an offer stands for; `None` for one that isn't of here.
pub(super) fn parse_offer(offer: &Offer) -> Option<(&str, &str)> {
    offer.id.split_once('@').filter(|_| offer.provider == NAME)
}

/// `None` for what has no name here. The vendor says the model in several places, in several words.
fn gpu(kind: &InstanceType) -> Option<GpuRequest> {
    let Some(count) = NonZeroU32::new(kind.gpu.number_of_gpus) else {
        return Some(GpuRequest::Cpu);
    };
    let each = kind.gpu_memory?.size_in_gigabytes / Decimal::from(count.get());
    let mebibytes = (each * Decimal::from(1024))
        .round_dp_with_strategy(0, RoundingStrategy::MidpointAwayFromZero)
        .to_u32()?;
    [&kind.gpu.description, &kind.name, &kind.model]
        .into_iter()
        .find_map(|words| GpuRequest::of_cards(without_count(words), mebibytes, count))
}

/// "8x H100 SXM5 80GB" without its first word.
fn without_count(words: &str) -> &str {
    match words.split_once(['x', 'X']) {
        Some((count, rest)) if count.trim().parse::<u32>().is_ok() => rest.trim(),
        _ => words,
    }
}

/// The machine by the hour and its disk by the month, from order to delete; a shut down box costs the same.
fn card(kind: &InstanceType, disk: GigabyteMonthRate, today: NaiveDate) -> RateCard {
    RateCard {
        running: HourlyRate::new(kind.price_per_hour),
        disk_running: disk,
        disk_stopped: disk,
        hours_per_month: HoursPerMonth::TWELFTH_OF_A_YEAR,
        inbound: GigabyteRate::ZERO,
        outbound: GigabyteRate::ZERO,
        quantum_seconds: NonZeroU32::new(QUANTUM_SECONDS).unwrap_or(NonZeroU32::MIN),
        minimum_seconds: 0,
        stop: StopSupport::None,
        as_of: today,
        source: format!("verda instance type {}", kind.instance_type),
    }
}

/// A box of the account; `None` once it is discontinued, which it goes on being shown as.
pub(super) fn instance(machine: &Machine) -> Option<Instance> {
    let state = match machine.status.as_str() {
        "discontinued" => return None,
        "ordered" | "new" | "validating" | "provisioning" => InstanceState::Creating,
        "running" => InstanceState::Running,
        "deleting" => InstanceState::Destroying,
        // A shut down box costs what a running one does, and serves nobody.
        _ => InstanceState::Broken,
    };
    let is_running = state == InstanceState::Running;
    let disk = machine.description.as_deref().and_then(noted_disk);
    let ip = machine.ip.as_ref().filter(|_| is_running);
    Some(Instance {
        id: machine.id.clone(),
        label: machine.hostname.clone(),
        state,
        created_at: machine.created_at,
        state_since: None,
        access: ip.map(|host| {
            Access::Ssh(SshAccess {
                user: "root".to_owned(),
                endpoints: vec![SshEndpoint {
                    host: host.clone(),
                    port: 22,
                    kind: SshEndpointKind::Direct,
                }],
            })
        }),
        gpus: machine
            .gpu
            .as_ref()
            .map(|gpu| gpu.number_of_gpus)
            .filter(|_| is_running),
        disk: disk.map(|(size, _)| size),
        price: disk
            .zip(machine.price_per_hour)
            .map(|((size, rate), hourly)| {
                HourlyRate::new(hourly) + rate.per_hour(size, HoursPerMonth::TWELFTH_OF_A_YEAR)
            }),
        message: (state == InstanceState::Broken).then(|| format!("it is {}", machine.status)),
    })
}

/// A box's description: its disk, and what that costs, which no call shows with the box.
pub(super) fn disk_note(gigabytes: u64, rate: GigabyteMonthRate) -> String {
    format!("gpurun disk {gigabytes} GB at {} $/GB-month", rate.amount())
}

/// The same, read; `None` for what somebody else wrote.
fn noted_disk(description: &str) -> Option<(Gigabytes, GigabyteMonthRate)> {
    let (size, rate) = description
        .strip_prefix("gpurun disk ")?
        .split_once(" GB at ")?;
    let rate = rate.strip_suffix(" $/GB-month")?;
    Some((
        Gigabytes::new(size.parse().ok()?),
        GigabyteMonthRate::new(rate.parse().ok()?),
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn kind(name: &str, gpus: u32, memory: u32, description: &str) -> InstanceType {
        let value = json!({
            "instance_type": name, "price_per_hour": "2.29", "model": "", "name": "",
            "gpu": {"description": description, "number_of_gpus": gpus},
            "gpu_memory": {"description": "", "size_in_gigabytes": memory},
        });
        serde_json::from_value(value).expect("a type")
    }

    #[test]
    fn an_offer_is_a_type_where_there_is_room() {
        let types = [
            kind("1H100.80S.32V", 1, 80, "1x H100 SXM5 80GB"),
            kind("8A100.176V", 8, 640, "8x A100 SXM4 80GB"),
            kind("CPU.4V.16G", 0, 0, ""),
            kind("1GX.1V", 1, 7, "1x Something New"),
        ];
        let room = |place: &str, names: &[&str]| Room {
            location_code: place.to_owned(),
            availabilities: names.iter().map(|name| (*name).to_owned()).collect(),
        };
        let all = ["1H100.80S.32V", "8A100.176V", "CPU.4V.16G", "1GX.1V"];
        let rooms = [room("FIN-01", &all), room("ICE-01", &all[1..2])];
        let today = NaiveDate::from_ymd_opt(2026, 12, 1).expect("a day");
        let disk = GigabyteMonthRate::new(Decimal::new(20, 2));
        let found = offers(&types, &rooms, disk, today);
        let told: Vec<(String, String)> = found
            .iter()
            .map(|offer| (offer.id.clone(), offer.gpu.to_string()))
            .collect();
        let told: Vec<(&str, &str)> = told
            .iter()
            .map(|(id, gpu)| (id.as_str(), gpu.as_str()))
            .collect();
        assert_eq!(
            told,
            [
                ("1H100.80S.32V@FIN-01", "h100-sxmx1"),
                ("8A100.176V@FIN-01", "a100-80-sxmx8"),
                ("CPU.4V.16G@FIN-01", "cpu"),
                ("8A100.176V@ICE-01", "a100-80-sxmx8"),
            ]
        );
        assert_eq!(found[0].card.running.figure(), "2.2900");
        assert_eq!(parse_offer(&found[0]), Some(("1H100.80S.32V", "FIN-01")));
    }

    #[test]
    fn every_status_is_a_state_and_a_new_one_is_never_gone() {
        let of = |status: &str| {
            let machine: Value = json!({
                "id": "1", "hostname": "gpurun-1", "status": status, "ip": "203.0.113.9", "price_per_hour": 2.29,
                "description": disk_note(365, GigabyteMonthRate::new(Decimal::new(20, 2))),
                "gpu": {"description": "1x H100 SXM5 80GB", "number_of_gpus": 1},
            });
            instance(&serde_json::from_value(machine).expect("a machine"))
        };
        let running = of("running").expect("alive");
        assert_eq!(
            (running.state, running.gpus),
            (InstanceState::Running, Some(1))
        );
        // 365 GB x $0.20 / 730 h
        assert_eq!(
            running.price.map(HourlyRate::figure).as_deref(),
            Some("2.3900")
        );
        for waits in ["ordered", "provisioning"] {
            let waiting = of(waits).expect("alive");
            assert_eq!(
                (waiting.state, waiting.access),
                (InstanceState::Creating, None)
            );
        }
        for useless in ["offline", "error", "hibernating", "no_capacity", "moved"] {
            let broken = of(useless).expect("listed");
            assert_eq!(broken.state, InstanceState::Broken, "{useless}");
            assert_eq!(broken.price, running.price, "{useless} bills on");
        }
        assert_eq!(of("discontinued"), None);
    }
}
