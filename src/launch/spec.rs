//! Everything a run is decided by, put together once, before the first dollar.

use crate::job::{JobSpec, Resolved};
use gpurun_lifecycle::{RunSpec, TimingSpec};
use gpurun_pricing::{
    Gigabytes, HourlyRate, Hours, Money, Offer, Probability, RebuildTerms, RestartOdds,
};
use rust_decimal::Decimal;
use rust_decimal_macros::dec;

/// Builds the specification. `offers` is not empty, best first.
pub(crate) fn run_spec(
    job: &JobSpec,
    resolved: Resolved,
    offers: Vec<Offer>,
    disk: Gigabytes,
    price_limit: Option<HourlyRate>,
) -> RunSpec {
    let provider = offers
        .first()
        .map_or_else(String::new, |offer| offer.provider.clone());
    let inbound = Gigabytes::from_bytes(resolved.stage.as_ref().map_or(0, |stage| stage.bytes));
    let local = provider == "local";
    RunSpec {
        rebuild: rebuild_terms(local, inbound),
        // Nobody else rents this machine. Elsewhere it is not known before it was tried.
        restart_odds: RestartOdds::constant(Probability::CERTAIN),
        timing: timing(local, job.boot_seconds),
        provider,
        offers,
        disk,
        price_limit,
        image: job.image.clone(),
        volume: job.volume.clone(),
        install: resolved.install,
        prove: resolved.prove,
        stage: resolved.stage,
        launch: resolved.launch,
        checkpoints: resolved.checkpoints,
        stop: resolved.stop,
    }
}

/// What coming back takes: on a marketplace as measured on the 8x RTX 4090 box (15 minutes from rent
/// to training); on this machine a minute, of which the proof is most.
pub(crate) fn rebuild_terms(local: bool, inbound: Gigabytes) -> RebuildTerms {
    let minutes = |count: Decimal| Hours::from_minutes(count);
    RebuildTerms {
        setup: minutes(if local { dec!(1) } else { dec!(15) }),
        resume: minutes(if local { dec!(0.25) } else { dec!(3) }),
        retry: Money::ZERO,
        inbound,
    }
}

fn timing(local: bool, boot_seconds: Option<u64>) -> TimingSpec {
    TimingSpec {
        boot_seconds: boot_seconds.unwrap_or(if local { 30 } else { 600 }),
        list_lag_seconds: if local { 0 } else { 120 },
        retry_seconds: if local { 1 } else { 15 },
        retry_limit: 3,
    }
}
