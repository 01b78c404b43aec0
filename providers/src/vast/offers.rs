//! From a request to a search, and from an ask to an offer; pure.

use std::num::NonZeroU32;

use chrono::NaiveDate;
use gpurun_pricing::{
    CudaVersion, GigabyteMonthRate, GigabyteRate, Gigabytes, GpuRequest, GpuSelection, HourlyRate,
    Hours, HoursPerMonth, Market, Offer, Probability, RateCard, StopSupport,
};
use rust_decimal::Decimal;
use rust_decimal_macros::dec;
use serde_json::{Map, Value, json};

use super::NAME;
use super::api::Ask;
use crate::provider::OfferRequest;

/// Without a limit the answer is cut, and nothing says so.
const MOST_OFFERS: u32 = 3000;

/// The body of a search for what is asked for, priced with the disk that will be rented. `None` where Vast has none of it.
pub(super) fn query(request: &OfferRequest) -> Option<Value> {
    let GpuRequest::Gpus(asked) = &request.gpu else {
        return None;
    };
    let mut body = usual(request.disk);
    let names = gpu_names(asked);
    body.insert("gpu_name".to_owned(), json!({"in": names}));
    body.insert("num_gpus".to_owned(), json!({"eq": asked.count().get()}));
    body.insert(
        "disk_space".to_owned(),
        json!({"gte": float(request.disk.amount())}),
    );
    let market = match request.market {
        Market::OnDemand => "on-demand",
        Market::Interruptible => "bid",
    };
    body.insert("type".to_owned(), json!(market));
    Some(Value::Object(body))
}

/// The body of a search for one offer again.
pub(super) fn query_one(offer: &Offer, disk: Gigabytes) -> Value {
    let mut body = usual(disk);
    let id = offer.id.parse::<u64>().map_or(Value::Null, Value::from);
    body.insert("id".to_owned(), json!({"eq": id}));
    if offer.market == Market::Interruptible {
        body.insert("type".to_owned(), json!("bid"));
    }
    Value::Object(body)
}

fn usual(disk: Gigabytes) -> Map<String, Value> {
    let body = json!({
        "rentable": {"eq": true}, "rented": {"eq": false}, "external": {"neq": true},
        "type": "on-demand", "order": [["dph_total", "asc"]], "limit": MOST_OFFERS,
        "allocated_storage": float(disk.amount()),
    });
    match body {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

/// For the wire alone; nothing is computed with it.
pub(super) fn float(amount: Decimal) -> Value {
    let number = serde_json::from_str(&amount.normalize().to_string());
    number.unwrap_or(Value::Null)
}

/// Its names for the family; memory and form are told by the offer's own figures.
fn gpu_names(asked: &GpuSelection) -> Vec<String> {
    let names: &[&str] = match asked.family() {
        "a100" => &["A100 SXM4", "A100 PCIE"],
        "h100" => &["H100 SXM", "H100 PCIE", "H100 NVL"],
        "h200" => &["H200", "H200 NVL"],
        "b300" => &["B300", "B300 PC"],
        "t4" => &["Tesla T4"],
        "v100" => &["Tesla V100"],
        "a6000" => &["RTX A6000"],
        "6000ada" => &["RTX 6000Ada"],
        "pro6000" => &["RTX PRO 6000 S", "RTX PRO 6000 WS"],
        family if family.starts_with(|first: char| first.is_ascii_digit()) => {
            return vec![format!("RTX {family}")];
        }
        family => return vec![family.to_uppercase()],
    };
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// An ask as an offer; `None` for what can't run our programs: no GPU of the table, or another processor.
pub(super) fn offer(ask: &Ask, disk: Gigabytes, today: NaiveDate) -> Option<Offer> {
    let runs_x86 = ask
        .cpu_arch
        .as_deref()
        .is_none_or(|arch| ["amd64", "x86_64"].contains(&arch));
    let memory = u32::try_from(ask.gpu_ram.round()).ok()?;
    let count = NonZeroU32::new(ask.num_gpus)?;
    let gpu = GpuRequest::of_cards(&ask.gpu_name, memory, count).filter(|_| runs_x86)?;
    let mut offer = Offer::new(NAME, &ask.id, gpu, card(ask, disk, today));
    offer.region.clone_from(&ask.geolocation);
    offer.reliability = ask
        .reliability2
        .and_then(|share| Probability::new(share).ok());
    offer.host.clone_from(&ask.machine_id);
    offer.market = match ask.is_bid {
        true => Market::Interruptible,
        false => Market::OnDemand,
    };
    offer.verified = ask.verification.as_deref().map(|word| word == "verified");
    offer.datacenter = ask.hosting_type.map(|kind| kind == 1);
    offer.cuda = ask
        .cuda_max_good
        .and_then(|cuda| cuda.to_string().parse::<CudaVersion>().ok());
    offer.download = ask.inet_down;
    offer.upload = ask.inet_up;
    offer.remaining = ask.duration.map(|seconds| Hours::new(seconds / dec!(3600)));
    offer.disk_available = ask.disk_space.map(Gigabytes::new);
    Some(offer)
}

/// GPUs per second while it runs, disk per second as long as it exists, traffic per byte both ways.
fn card(ask: &Ask, disk: Gigabytes, today: NaiveDate) -> RateCard {
    let disk_rate = GigabyteMonthRate::new(ask.storage_cost);
    RateCard {
        running: HourlyRate::new(ask.dph_base),
        disk_running: disk_rate,
        disk_stopped: disk_rate,
        hours_per_month: month(ask, disk),
        inbound: GigabyteRate::new(ask.inet_down_cost.unwrap_or_default()),
        outbound: GigabyteRate::new(ask.inet_up_cost.unwrap_or_default()),
        quantum_seconds: NonZeroU32::MIN,
        minimum_seconds: 0,
        stop: StopSupport::KeepsDisk,
        as_of: today,
        source: format!("vast offer {}", ask.id),
    }
}

/// The vendor doesn't say how long its month is; the offer's own two prices of the disk do.
fn month(ask: &Ask, disk: Gigabytes) -> HoursPerMonth {
    let hourly = ask.storage_total_cost.filter(|hourly| !hourly.is_zero());
    let hours = hourly.map(|hourly| (ask.storage_cost * disk.amount() / hourly).round());
    let plausible = hours.filter(|hours| (dec!(672)..=dec!(744)).contains(hours));
    plausible
        .and_then(|hours| HoursPerMonth::new(hours).ok())
        // The shorter month is the dearer one.
        .unwrap_or(HoursPerMonth::THIRTY_DAYS)
}
