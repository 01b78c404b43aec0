//! The fault that costs people most: the provider did it, and the answer never came.

use async_trait::async_trait;
use gpurun_pricing::{Offer, RateCard};

use crate::account::Account;
use crate::capabilities::Capabilities;
use crate::error::{Error, ErrorKind, Operation, Result};
use crate::instance::Instance;
use crate::provider::{OfferRequest, Provider, RentRequest};
use crate::volume::Volumes;

/// A client whose connection breaks after every `rent`: the box is made, and the caller is told "unavailable".
pub struct LostReply(pub Box<dyn Provider>);

#[async_trait]
impl Provider for LostReply {
    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn capabilities(&self) -> Capabilities {
        self.0.capabilities()
    }

    async fn rate_card(&self, offer: &Offer) -> Result<RateCard> {
        self.0.rate_card(offer).await
    }

    async fn search(&self, request: &OfferRequest) -> Result<Vec<Offer>> {
        self.0.search(request).await
    }

    async fn rent(&self, request: &RentRequest) -> Result<Instance> {
        self.0.rent(request).await?;
        let message = "the connection was closed before the answer came";
        Err(Error::new(
            self.name(),
            Operation::Rent,
            ErrorKind::Unavailable,
            message,
            "Look for the label before trying again.",
        ))
    }

    async fn describe(&self, id: &str) -> Result<Option<Instance>> {
        self.0.describe(id).await
    }

    async fn list_mine(&self) -> Result<Vec<Instance>> {
        self.0.list_mine().await
    }

    async fn start(&self, id: &str) -> Result<()> {
        self.0.start(id).await
    }

    async fn stop(&self, id: &str) -> Result<()> {
        self.0.stop(id).await
    }

    async fn destroy(&self, id: &str) -> Result<()> {
        self.0.destroy(id).await
    }

    async fn authorize(&self, id: &str, ssh_public_key: &str) -> Result<bool> {
        self.0.authorize(id, ssh_public_key).await
    }

    async fn account(&self) -> Result<Account> {
        self.0.account().await
    }

    fn volumes(&self) -> Option<&dyn Volumes> {
        self.0.volumes()
    }
}
