//! Every provider of the registry through the one suite; and the suite itself against providers that lie.

use std::path::PathBuf;
use std::time::Duration;

use async_trait::async_trait;
use gpurun_pricing::{Gigabytes, GpuRequest};
use gpurun_providers::conformance::{self, Harness, Trouble, Verdict, World};
use gpurun_providers::local::{Local, LocalConfig};
use gpurun_providers::{CLOUDS, CloudConfig, OfferRequest, Provider, RegistryConfig, registry};
use rust_decimal::Decimal;
use tempfile::TempDir;

use crate::harness::{Liar, Lie, SIMULATED, Simulated};

struct LocalHarness(Lie);

struct LocalWorld {
    folder: TempDir,
    lie: Lie,
}

#[async_trait]
impl Harness for LocalHarness {
    fn provider(&self) -> &'static str {
        "local"
    }

    async fn world(&self) -> Result<Box<dyn World>, String> {
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        Ok(Box::new(LocalWorld {
            folder,
            lie: self.0,
        }))
    }
}

impl World for LocalWorld {
    fn client(&self) -> Box<dyn Provider> {
        let local = Local::new(LocalConfig::new(self.folder.path().join("local")));
        Box::new(Liar::new(Box::new(local), self.lie))
    }

    fn request(&self) -> OfferRequest {
        OfferRequest::new(GpuRequest::Cpu, Gigabytes::new(Decimal::from(20)))
    }

    fn patience(&self) -> Duration {
        // A liar's change never comes; waiting for it proves nothing.
        if self.lie == Lie::None {
            Duration::from_secs(60)
        } else {
            Duration::ZERO
        }
    }
}

/// A cloud's client that handles trouble carelessly.
struct CarelessHarness(Simulated, Lie);

struct CarelessWorld {
    honest: Box<dyn World>,
    lie: Lie,
}

#[async_trait]
impl Harness for CarelessHarness {
    fn provider(&self) -> &'static str {
        self.0.provider()
    }

    async fn world(&self) -> Result<Box<dyn World>, String> {
        let honest = self.0.world().await?;
        let lie = self.1;
        Ok(Box::new(CarelessWorld { honest, lie }))
    }
}

impl World for CarelessWorld {
    fn client(&self) -> Box<dyn Provider> {
        Box::new(Liar::new(self.honest.client(), self.lie))
    }

    fn request(&self) -> OfferRequest {
        self.honest.request()
    }

    fn patience(&self) -> Duration {
        Duration::ZERO
    }

    fn trouble(&self, trouble: Trouble) -> bool {
        self.honest.trouble(trouble)
    }

    fn calm(&self) {
        self.honest.calm();
    }
}

fn all_providers() -> Vec<Box<dyn Provider>> {
    registry(&RegistryConfig {
        local: LocalConfig::new(PathBuf::from("/nowhere")),
        clouds: CLOUDS
            .iter()
            .map(|cloud| (cloud.name.to_owned(), CloudConfig::default()))
            .collect(),
    })
}

#[tokio::test]
async fn every_registered_provider_conforms() {
    let mut harnesses: Vec<Box<dyn Harness>> = vec![Box::new(LocalHarness(Lie::None))];
    harnesses.extend(SIMULATED.map(|vendor| Box::new(vendor) as _));
    let report = conformance::run_all(&all_providers(), &harnesses).await;
    assert!(report.is_clean(), "\n{report}");
    let mut untried = report.results.iter();
    let untried = untried.find(|it| it.verdict == Verdict::Untried && it.provider != "local");
    assert_eq!(untried, None, "a simulator brings all troubles about");
}

#[tokio::test]
async fn a_provider_without_a_harness_fails() {
    let report = conformance::run_all(&all_providers(), &[]).await;
    assert!(
        report.failures().any(|failed| failed.provider == "local"),
        "\n{report}"
    );
    let mut harnesses: Vec<Box<dyn Harness>> = vec![Box::new(LocalHarness(Lie::None))];
    harnesses.extend(SIMULATED.map(|vendor| Box::new(vendor) as _));
    let report = conformance::run_all(&[], &harnesses).await;
    assert!(
        report
            .failures()
            .any(|failed| failed.case == "has a harness"),
        "\n{report}"
    );
}

#[tokio::test]
async fn every_lie_is_found_out() {
    for (lie, case) in [
        (Lie::DestroysNothing, "what is destroyed is gone"),
        (
            Lie::StopsNothing,
            "a stopped box is kept, cheaper, and starts again",
        ),
        (
            Lie::ListsNothing,
            "a box whose reply was lost is found by its label",
        ),
        (Lie::ForgetsLabels, "what is rented runs and is listed"),
        (
            Lie::ChargesNothingWhileStopped,
            "a stopped box is kept, cheaper, and starts again",
        ),
        (Lie::IgnoresPriceLimit, "a price limit is kept"),
        (Lie::KeepsNoLabelUnique, "a label in use is refused"),
    ] {
        let report = conformance::run(&LocalHarness(lie)).await;
        assert!(
            report.failures().any(|failed| failed.case == case),
            "{lie:?} passed `{case}`:\n{report}"
        );
    }
}

#[tokio::test]
async fn every_carelessness_is_found_out() {
    // A cloud that can do everything: no case is left out for it.
    let [vendor, ..] = SIMULATED;
    let garbled = "a garbled answer is neither an empty list nor a box that is gone";
    let refused = "a refused key is neither an empty list nor a box that is gone";
    for (lie, cases) in [
        (
            Lie::RentsAgain,
            &["a rent that was done and answered by nothing, or by an error, made one box"][..],
        ),
        (
            Lie::ForgivesFailedRents,
            &[
                "an offer that is taken is no capacity, and makes nothing",
                "a rent that came too soon makes nothing",
            ],
        ),
        (Lie::TakesFailedLooksForGone, &[garbled, refused]),
        (Lie::TakesFailedListsForEmpty, &[garbled, refused]),
        (Lie::SaysDestroyed, &["a refused destroy is told"]),
        (
            Lie::ForgetsWhatItDestroys,
            &["a destroy that is accepted and not done leaves the box in sight"],
        ),
        (Lie::BelievesInGpus, &["a start without GPUs is seen"]),
    ] {
        let report = conformance::run(&CarelessHarness(vendor, lie)).await;
        for case in cases {
            assert!(
                report.failures().any(|failed| failed.case == *case),
                "{lie:?} passed `{case}`:\n{report}"
            );
        }
    }
}
