//! `cargo bench -p gpurun-pricing`: sorting out and ranking 100,000 offers, against only sorting them by the hour's price.
#![expect(clippy::print_stdout, reason = "a bench prints what it measured")]
#![expect(clippy::disallowed_methods, reason = "and measures time")]

use std::num::NonZeroU32;
use std::time::{Duration, Instant};

use gpurun_pricing::estimate::{JobShape, TrainingTime};
use gpurun_pricing::{
    Gigabytes, GpuRequest, Hours, Offer, OfferFilter, Probability, measured_box, select,
};
use rust_decimal::Decimal;

const OFFERS: u32 = 100_000;
const ROUNDS: usize = 21;

fn main() {
    let market = market();
    let wanted: GpuRequest = "4090x8".parse().expect("a GPU of the table");
    let (job, filter) = (job(), OfferFilter::default());
    let mut ours = Vec::new();
    let mut floor = Vec::new();
    let mut fitting = 0;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        let selection = select(&market, &wanted, &job, &filter);
        ours.push(start.elapsed());
        fitting = selection.ranked.len();
        let mut offers: Vec<&Offer> = market.iter().collect();
        let start = Instant::now();
        offers.sort_by_key(|offer| offer.card.running);
        floor.push(start.elapsed());
    }
    let (ours, floor) = (median(ours), median(floor));
    println!(
        "{OFFERS} offers, {fitting} of them fit: {:.1} ms; sorted by the hour's price alone: {:.1} ms; ratio {:.2}",
        ours.as_secs_f64() * 1e3,
        floor.as_secs_f64() * 1e3,
        ours.as_secs_f64() / floor.as_secs_f64()
    );
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

/// Twenty kinds of boxes, each with its own figures; every tenth offer is of what is wanted.
fn market() -> Vec<Offer> {
    let kinds = [
        "4090x8",
        "4090x1",
        "4090x4",
        "5090x8",
        "a100-80-sxmx8",
        "a100-40-sxmx8",
        "h100-sxmx8",
        "h100-pciex4",
        "h200x8",
        "4090x2",
    ];
    let kinds: Vec<GpuRequest> = kinds
        .iter()
        .map(|kind| kind.parse().expect("a GPU of the table"))
        .collect();
    (0..OFFERS)
        .map(|number| {
            let gpu = kinds[number as usize % kinds.len()].clone();
            let mut card = measured_box().card;
            // Spread without an order, and the same in every run.
            let spread = u64::from(number).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
            card.running = gpurun_pricing::HourlyRate::new(Decimal::new(
                i64::try_from(spread % 90_000 + 10_000).unwrap_or(0),
                4,
            ));
            card.quantum_seconds = NonZeroU32::MIN;
            let mut offer = Offer::new("vast", number.to_string(), gpu, card);
            offer.verified = Some(number % 20 != 0);
            offer.reliability = Probability::new(Decimal::new(99, 2)).ok();
            offer.disk_available = Some(Gigabytes::new(Decimal::from(2000)));
            offer
        })
        .collect()
}

fn job() -> JobShape {
    let hours = |hours| Hours::new(Decimal::from(hours));
    JobShape {
        setup: Hours::from_minutes(Decimal::TEN),
        staging: Hours::from_minutes(Decimal::TEN),
        training: TrainingTime::Expected(hours(20)),
        teardown: Hours::from_minutes(Decimal::ONE),
        disk: Gigabytes::new(Decimal::from(250)),
        inbound: Gigabytes::new(Decimal::from(43)),
        outbound: Gigabytes::new(Decimal::ONE),
    }
}
