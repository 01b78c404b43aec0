//! Every provider of the registry through the one suite; and the suite itself against providers that lie.

use std::path::PathBuf;
use std::time::Duration;

use async_trait::async_trait;
use gpurun_pricing::{Gigabytes, GpuRequest, Offer, RateCard};
use gpurun_providers::conformance::{self, Harness, World};
use gpurun_providers::local::{Local, LocalConfig};
use gpurun_providers::{
    Account, CLOUDS, Capabilities, CloudConfig, Instance, OfferRequest, Provider, RegistryConfig,
    RentRequest, Result, Volumes, registry,
};
use rust_decimal::Decimal;
use tempfile::TempDir;

use crate::harness::SIMULATED;

/// What a provider that lies does wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lie {
    None,
    DestroysNothing,
    StopsNothing,
    ListsNothing,
    ForgetsLabels,
    ChargesNothingWhileStopped,
    IgnoresPriceLimit,
    KeepsNoLabelUnique,
}

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
        Box::new(Liar {
            local,
            lie: self.lie,
        })
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

/// A local provider that is honest but for one thing.
struct Liar {
    local: Local,
    lie: Lie,
}

impl Liar {
    fn dress(&self, mut instance: Instance) -> Instance {
        match self.lie {
            Lie::ForgetsLabels => instance.label = None,
            Lie::ChargesNothingWhileStopped => {
                instance.price = instance.price.map(|_| "9".parse().expect("a price"))
            }
            _ => {}
        }
        instance
    }
}

#[async_trait]
impl Provider for Liar {
    fn name(&self) -> &'static str {
        self.local.name()
    }

    fn capabilities(&self) -> Capabilities {
        self.local.capabilities()
    }

    async fn rate_card(&self, offer: &Offer) -> Result<RateCard> {
        self.local.rate_card(offer).await
    }

    async fn search(&self, request: &OfferRequest) -> Result<Vec<Offer>> {
        let mut request = request.clone();
        if self.lie == Lie::IgnoresPriceLimit {
            request.max_price = None;
        }
        self.local.search(&request).await
    }

    async fn rent(&self, request: &RentRequest) -> Result<Instance> {
        let mut request = request.clone();
        if self.lie == Lie::KeepsNoLabelUnique {
            let taken = self.local.list_mine().await?.len();
            request.label = format!("{}-{taken}", request.label);
        }
        Ok(self.dress(self.local.rent(&request).await?))
    }

    async fn describe(&self, id: &str) -> Result<Option<Instance>> {
        Ok(self
            .local
            .describe(id)
            .await?
            .map(|instance| self.dress(instance)))
    }

    async fn list_mine(&self) -> Result<Vec<Instance>> {
        let listed = self.local.list_mine().await?;
        let shown = listed.into_iter().filter(|_| self.lie != Lie::ListsNothing);
        Ok(shown.map(|instance| self.dress(instance)).collect())
    }

    async fn start(&self, id: &str) -> Result<()> {
        self.local.start(id).await
    }

    async fn stop(&self, id: &str) -> Result<()> {
        if self.lie == Lie::StopsNothing {
            Ok(())
        } else {
            self.local.stop(id).await
        }
    }

    async fn destroy(&self, id: &str) -> Result<()> {
        if self.lie == Lie::DestroysNothing {
            Ok(())
        } else {
            self.local.destroy(id).await
        }
    }

    async fn account(&self) -> Result<Account> {
        self.local.account().await
    }

    fn volumes(&self) -> Option<&dyn Volumes> {
        self.local.volumes()
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
