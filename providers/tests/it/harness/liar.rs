//! Providers that lie, to try the suite itself.

use std::sync::Mutex;

use async_trait::async_trait;
use gpurun_pricing::{Offer, RateCard};
use gpurun_providers::{
    Account, Capabilities, Error, ErrorKind, Instance, OfferRequest, Provider, RentRequest, Result,
    Volumes,
};

/// What a provider that lies does wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lie {
    None,
    DestroysNothing,
    StopsNothing,
    ListsNothing,
    ForgetsLabels,
    ChargesNothingWhileStopped,
    IgnoresPriceLimit,
    KeepsNoLabelUnique,
    RentsAgain,
    ForgivesFailedRents,
    TakesFailedLooksForGone,
    TakesFailedListsForEmpty,
    SaysDestroyed,
    ForgetsWhatItDestroys,
    BelievesInGpus,
}

/// A provider that is honest but for one thing.
pub(crate) struct Liar {
    honest: Box<dyn Provider>,
    lie: Lie,
    destroyed: Mutex<Vec<String>>,
}

impl Liar {
    pub(crate) fn new(honest: Box<dyn Provider>, lie: Lie) -> Self {
        let destroyed = Mutex::default();
        Self {
            honest,
            lie,
            destroyed,
        }
    }

    fn has_destroyed(&self, id: &str) -> bool {
        let destroyed = self.destroyed.lock().expect("no panic");
        destroyed.iter().any(|one| one == id)
    }

    fn dress(&self, mut instance: Instance) -> Instance {
        match self.lie {
            Lie::ForgetsLabels => instance.label = None,
            Lie::BelievesInGpus => instance.gpus = instance.gpus.map(|gpus| gpus.max(1)),
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
        self.honest.name()
    }

    fn capabilities(&self) -> Capabilities {
        self.honest.capabilities()
    }

    async fn rate_card(&self, offer: &Offer) -> Result<RateCard> {
        self.honest.rate_card(offer).await
    }

    async fn search(&self, request: &OfferRequest) -> Result<Vec<Offer>> {
        let mut request = request.clone();
        if self.lie == Lie::IgnoresPriceLimit {
            request.max_price = None;
        }
        self.honest.search(&request).await
    }

    async fn rent(&self, request: &RentRequest) -> Result<Instance> {
        let mut request = request.clone();
        if self.lie == Lie::KeepsNoLabelUnique {
            let taken = self.honest.list_mine().await?.len();
            request.label = format!("{}-{taken}", request.label);
        }
        let told = match self.honest.rent(&request).await {
            Err(_) if self.lie == Lie::RentsAgain => self.honest.rent(&request).await,
            Err(error) if self.lie == Lie::ForgivesFailedRents => {
                return Err(Error {
                    kind: ErrorKind::Unknown,
                    ..error
                });
            }
            told => told,
        };
        Ok(self.dress(told?))
    }

    async fn describe(&self, id: &str) -> Result<Option<Instance>> {
        if self.lie == Lie::ForgetsWhatItDestroys && self.has_destroyed(id) {
            return Ok(None);
        }
        match self.honest.describe(id).await {
            Err(_) if self.lie == Lie::TakesFailedLooksForGone => Ok(None),
            seen => Ok(seen?.map(|instance| self.dress(instance))),
        }
    }

    async fn list_mine(&self) -> Result<Vec<Instance>> {
        let listed = match self.honest.list_mine().await {
            Err(_) if self.lie == Lie::TakesFailedListsForEmpty => Vec::new(),
            listed => listed?,
        };
        let shown = listed.into_iter().filter(|_| self.lie != Lie::ListsNothing);
        Ok(shown.map(|instance| self.dress(instance)).collect())
    }

    async fn start(&self, id: &str) -> Result<()> {
        self.honest.start(id).await
    }

    async fn stop(&self, id: &str) -> Result<()> {
        if self.lie == Lie::StopsNothing {
            Ok(())
        } else {
            self.honest.stop(id).await
        }
    }

    async fn destroy(&self, id: &str) -> Result<()> {
        if self.lie == Lie::DestroysNothing {
            return Ok(());
        }
        let told = self.honest.destroy(id).await;
        let mut destroyed = self.destroyed.lock().expect("no panic");
        destroyed.push(id.to_owned());
        match told {
            Err(_) if self.lie == Lie::SaysDestroyed => Ok(()),
            told => told,
        }
    }

    async fn account(&self) -> Result<Account> {
        self.honest.account().await
    }

    fn volumes(&self) -> Option<&dyn Volumes> {
        self.honest.volumes()
    }
}
