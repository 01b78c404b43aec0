//! The calls.

use std::num::NonZeroU32;

use async_trait::async_trait;
use gpurun_pricing::{GpuRequest, HourlyRate, Market, Money, Offer, RateCard, StopSupport};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::api::{self, Answer, Catalog, Pod, Pods};
use super::convert::{self, Cloud, Place};
use super::{NAME, errors};
use crate::account::Account;
use crate::capabilities::{Capabilities, DiskLimit, Image, Labels, VolumeSupport};
use crate::clock;
use crate::config::CloudConfig;
use crate::error::{Error, ErrorKind, Operation, Result};
use crate::http::{Call, Client, Service};
use crate::instance::Instance;
use crate::provider::{OfferRequest, Provider, RentRequest};
use crate::volume::Volumes;

const SERVICE: Service = Service {
    provider: NAME,
    base_url: api::BASE_URL,
    refusal: errors::refusal,
    key_remedy: "Make a key at https://console.runpod.io/user/settings and put it into $RUNPOD_API_KEY.",
};

/// One of the vendor's own: its start script lets the run's key in.
const USUAL_IMAGE: &str = "runpod/pytorch:1.0.2-cu1281-torch280-ubuntu2404";

/// One account at RunPod.
#[derive(Clone, Debug)]
pub struct RunPod {
    pub(super) client: Client,
    /// The old API, for the balance alone.
    graphql: Client,
}

impl RunPod {
    pub fn new(config: &CloudConfig) -> Self {
        Self {
            client: Client::new(SERVICE, config.base_url.as_deref(), config),
            graphql: Client::new(SERVICE, config.second_url.as_deref(), config),
        }
    }

    /// Asks, and reads the answer as what it should be.
    pub(super) async fn ask<T: DeserializeOwned>(&self, call: Call) -> Result<T> {
        self.needs_key(call.operation)?;
        let reply = self.client.read(&call).await?;
        reply
            .json()
            .map_err(|why| self.client.garbled(call.operation, why))
    }

    /// Sends a write once, and reads what was made.
    pub(super) async fn make<T: DeserializeOwned>(&self, call: Call) -> Result<T> {
        self.needs_key(call.operation)?;
        let reply = self.client.write(&call).await?;
        reply
            .json()
            .map_err(|why| self.client.garbled(call.operation, why))
    }

    /// Sends the end of something once: 204, without a body, is the only yes.
    pub(super) async fn end(&self, call: Call) -> Result<()> {
        self.needs_key(call.operation)?;
        match self.client.write(&call).await {
            Ok(reply) if reply.status == 204 => Ok(()),
            Ok(reply) => {
                let why = format!("it answered {}: {}", reply.status, reply.excerpt());
                Err(self.client.garbled(call.operation, why))
            }
            Err(error) if error.kind == ErrorKind::Gone => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn needs_key(&self, operation: Operation) -> Result<()> {
        match self.client.has_key() {
            true => Ok(()),
            false => Err(self.client.no_key(operation)),
        }
    }

    fn wrong(&self, message: impl Into<String>, remedy: &str) -> Error {
        self.client
            .error(Operation::Rent, ErrorKind::InvalidRequest, message, remedy)
    }

    async fn offers(&self, operation: Operation, count: NonZeroU32) -> Result<Vec<Offer>> {
        let mut found = Vec::new();
        for cloud in Cloud::ALL {
            let call = api::gpus(operation, cloud.word(), count.get());
            let catalog: Catalog = self.ask(call).await?;
            let today = clock::now().date_naive();
            let offers = catalog
                .gpus
                .iter()
                .flat_map(|gpu| convert::offers(gpu, cloud, count, today));
            found.extend(offers);
        }
        Ok(found)
    }
}

#[async_trait]
impl Provider for RunPod {
    fn name(&self) -> &'static str {
        NAME
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            stop: StopSupport::None,
            labels: Labels::Repeatable,
            disk: DiskLimit::Enforced,
            image: Image::Optional,
            volumes: VolumeSupport::Network,
            interruptible: false,
            self_destruct: false,
        }
    }

    async fn rate_card(&self, offer: &Offer) -> Result<RateCard> {
        let count = NonZeroU32::new(offer.gpu.count());
        let found = match count {
            Some(count) => self.offers(Operation::RateCard, count).await?,
            None => Vec::new(),
        };
        let same = found.into_iter().find(|found| found.id == offer.id);
        same.map(|found| found.card).ok_or_else(|| {
            let message = format!("there is no stock of {} now", offer.id);
            let remedy = "Take another offer: stock is no reservation.";
            self.client
                .error(Operation::RateCard, ErrorKind::NoCapacity, message, remedy)
        })
    }

    async fn search(&self, request: &OfferRequest) -> Result<Vec<Offer>> {
        let GpuRequest::Gpus(asked) = &request.gpu else {
            return Ok(Vec::new());
        };
        if request.market == Market::Interruptible {
            return Ok(Vec::new());
        }
        let mut found = self.offers(Operation::Search, asked.count()).await?;
        let rate = |offer: &Offer| offer.card.running_rate(request.disk);
        found.retain(|offer| {
            let is_there = |region: &String| offer.region.as_ref() == Some(region);
            request.gpu.is_met_by(&offer.gpu)
                && request.max_price.is_none_or(|most| rate(offer) <= most)
                && request.region.as_ref().is_none_or(is_there)
        });
        found.sort_by_key(rate);
        Ok(found)
    }

    async fn rent(&self, request: &RentRequest) -> Result<Instance> {
        let Some(place) = convert::parse_offer(&request.offer) else {
            let message = format!("`{}` is no offer of runpod", request.offer.id);
            return Err(self.wrong(message, "Search again: gpurun offers."));
        };
        if request.volume.is_some() && place.cloud == Cloud::Community {
            let message = "community machines mount no network volume";
            return Err(self.wrong(message, "Take an offer of the volume's data centre."));
        }
        let pod: Pod = self.make(api::create(create_body(request, place))).await?;
        convert::instance(&pod).ok_or_else(|| {
            let why = format!("the new pod {} is terminated", pod.id);
            self.client.garbled(Operation::Rent, why)
        })
    }

    async fn describe(&self, id: &str) -> Result<Option<Instance>> {
        match self.ask::<Pod>(api::show(id)).await {
            Ok(pod) => Ok(convert::instance(&pod)),
            Err(error) if error.kind == ErrorKind::Gone => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn list_mine(&self) -> Result<Vec<Instance>> {
        let found: Pods = self.ask(api::list(Operation::List)).await?;
        Ok(found.pods.iter().filter_map(convert::instance).collect())
    }

    async fn start(&self, _: &str) -> Result<()> {
        Err(self.no_stop(Operation::Start))
    }

    async fn stop(&self, _: &str) -> Result<()> {
        Err(self.no_stop(Operation::Stop))
    }

    async fn destroy(&self, id: &str) -> Result<()> {
        self.end(api::terminate(id)).await
    }

    async fn account(&self) -> Result<Account> {
        self.needs_key(Operation::Account)?;
        // The one that will last says whether the key opens the account; the old one may be gone.
        let _: Pods = self.ask(api::list(Operation::Account)).await?;
        let told = self.graphql.read(&api::balance()).await;
        let answer: Option<Answer> = told.ok().and_then(|reply| reply.json().ok());
        let myself = answer.and_then(|answer| answer.data?.myself);
        Ok(myself.map_or_else(Account::default, |myself| Account {
            id: myself.id,
            balance: myself.balance.map(Money::new),
            burn: myself.burn.map(HourlyRate::new),
            spend_limit: myself.limit.map(HourlyRate::new),
        }))
    }

    fn volumes(&self) -> Option<&dyn Volumes> {
        Some(self)
    }
}

impl RunPod {
    fn no_stop(&self, operation: Operation) -> Error {
        let message = "a stop here wipes the container's disk, so none is offered";
        let remedy = "Destroy it once its weights are safe; a network volume outlives it.";
        self.client
            .error(operation, ErrorKind::InvalidRequest, message, remedy)
    }
}

/// Nothing but what the vendor's schema knows: a stray field is refused.
fn create_body(request: &RentRequest, place: Place<'_>) -> Value {
    let mut body = json!({
        "name": request.label,
        "image": request.image.as_deref().unwrap_or(USUAL_IMAGE),
        "gpu": {"id": place.gpu, "count": place.count},
        "cloud": place.cloud.word(),
        "disk": request.disk.amount().ceil().to_string().parse::<u64>().ok(),
        "ports": ["22/tcp"],
        "env": {},
    });
    match &request.ssh_public_key {
        // The image's start script reads it; the account's own keys would take its place.
        Some(line) => body["env"]["PUBLIC_KEY"] = json!(line),
        None => body["startSsh"] = json!(true),
    }
    if let Some(center) = place.data_center {
        body["dataCenterIds"] = json!([center]);
    }
    if let Some(volume) = &request.volume {
        body["mounts"] = json!({"network": [{"volumeId": volume.id, "path": volume.path}]});
    }
    body
}
