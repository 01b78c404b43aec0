//! Everything a run is decided by, put together once, before the first dollar.

use crate::job::{JobSpec, Resolved};
use gpurun_lifecycle::{LaunchSpec, RunSpec, TimingSpec, VolumeSpec};
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
        launch: resolved
            .launch
            .map(|launch| with_caches(launch, job.volume.as_ref())),
        checkpoints: resolved.checkpoints,
        stop: resolved.stop,
    }
}

/// With a volume, what a training downloads outlives the box: models and data sets, as their own libraries name the places.
/// What the job sets itself stays.
fn with_caches(mut launch: LaunchSpec, volume: Option<&VolumeSpec>) -> LaunchSpec {
    const CACHES: [(&str, &str); 3] = [
        ("HF_HOME", "huggingface"),
        ("TORCH_HOME", "torch"),
        ("LIBREYOLO_DATASETS_DIR", "datasets"),
    ];
    let Some(volume) = volume else { return launch };
    for (variable, folder) in CACHES {
        let place = format!(
            "{}/gpurun-cache/{folder}",
            volume.path.trim_end_matches('/')
        );
        launch.env.entry(variable.to_owned()).or_insert(place);
    }
    launch
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn caches_lie_on_the_volume_unless_the_job_says_where() {
        let launch = |env: &[(&str, &str)]| LaunchSpec {
            argv: vec!["true".to_owned()],
            env: env
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect(),
            run_dir: "runs/a".to_owned(),
            resume_argv: None,
        };
        let volume = VolumeSpec {
            id: "v1".to_owned(),
            path: "/workspace/".to_owned(),
            rate: None,
        };
        assert!(with_caches(launch(&[]), None).env.is_empty());
        let env = with_caches(launch(&[("HF_HOME", "/mine")]), Some(&volume)).env;
        assert_eq!(env["HF_HOME"], "/mine");
        assert_eq!(
            env["LIBREYOLO_DATASETS_DIR"],
            "/workspace/gpurun-cache/datasets"
        );
    }
}
