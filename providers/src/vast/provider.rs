//! The calls.

use std::collections::HashSet;

use async_trait::async_trait;
use gpurun_pricing::{Gigabytes, HourlyRate, Market, Money, Offer, RateCard, StopSupport};
use rust_decimal_macros::dec;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::api::{self, Ask, Contract, Created, Done, Offers, Page, Shown, User};
use super::{NAME, convert, errors, offers};
use crate::account::Account;
use crate::capabilities::{Capabilities, DiskLimit, Image, Labels, VolumeSupport};
use crate::clock;
use crate::config::CloudConfig;
use crate::error::{Error, ErrorKind, Operation, Result};
use crate::http::{Call, Client, Reply, Service};
use crate::instance::{Instance, InstanceState};
use crate::provider::{OfferRequest, Provider, RentRequest};
use crate::volume::Volumes;

const SERVICE: Service = Service {
    provider: NAME,
    base_url: api::BASE_URL,
    refusal: errors::refusal,
    key_remedy: "Make a key at https://cloud.vast.ai/manage-keys/ and put it into $VAST_API_KEY.",
};

/// What a box starts from when nobody names an image: a driver's libraries, Python, and nothing that has to be undone.
const USUAL_IMAGE: &str = "pytorch/pytorch:2.4.0-cuda12.4-cudnn9-runtime";

/// The disk that offers are priced with where only their rates count.
const ANY_DISK: Gigabytes = Gigabytes::new(dec!(100));

/// The smallest disk, fixed for a box's life.
const SMALLEST_DISK: Gigabytes = Gigabytes::new(dec!(8));

/// One account at Vast.ai; without a key, only its market.
#[derive(Clone, Debug)]
pub struct Vast {
    pub(super) client: Client,
}

impl Vast {
    pub fn new(config: &CloudConfig) -> Self {
        Self {
            client: Client::new(SERVICE, config.base_url.as_deref(), config),
        }
    }

    /// Asks, and reads the answer as what it should be.
    pub(super) async fn ask<T: DeserializeOwned>(&self, call: Call) -> Result<T> {
        let reply = self.client.read(&call).await?;
        self.understand(call.operation, &reply)
    }

    /// Sends a write once; only its own word that it was done counts.
    pub(super) async fn tell(&self, call: Call) -> Result<()> {
        let reply = self.client.write(&call).await?;
        match self.understand::<Done>(call.operation, &reply)?.success {
            true => Ok(()),
            false => Err(self
                .client
                .garbled(call.operation, "it says that it wasn't done")),
        }
    }

    pub(super) fn understand<T: DeserializeOwned>(
        &self,
        operation: Operation,
        reply: &Reply,
    ) -> Result<T> {
        reply
            .json()
            .map_err(|why| self.client.garbled(operation, why))
    }

    pub(super) fn needs_key(&self, operation: Operation) -> Result<()> {
        match self.client.has_key() {
            true => Ok(()),
            false => Err(self.client.no_key(operation)),
        }
    }

    async fn asks(&self, operation: Operation, body: Value, disk: Gigabytes) -> Result<Vec<Offer>> {
        let found: Offers = self.ask(api::search(operation, body)).await?;
        let today = clock::now().date_naive();
        let read = found.offers.into_iter().filter_map(|offer| {
            serde_json::from_value::<Ask>(offer)
                .inspect_err(|error| tracing::warn!("an offer of vast is left out: {error}"))
                .ok()
        });
        Ok(read
            .filter_map(|ask| offers::offer(&ask, disk, today))
            .collect())
    }

    /// One instance; `None` only where the account was read and has no such instance.
    async fn find(&self, operation: Operation, id: &str) -> Result<Option<Contract>> {
        self.needs_key(operation)?;
        match self.ask::<Shown>(api::show(operation, id)).await {
            Ok(Shown { instances }) if is_nothing(&instances) => Ok(None),
            Ok(Shown { instances }) => serde_json::from_value(instances)
                .map(Some)
                .map_err(|error| self.client.garbled(operation, error.to_string())),
            Err(error) if error.kind == ErrorKind::Gone => self.proven_gone(operation).await,
            Err(error) => Err(error),
        }
    }

    /// A 404 is also what an expired session gets. Only a key that still opens the account makes it mean "gone".
    async fn proven_gone<T>(&self, operation: Operation) -> Result<Option<T>> {
        let _: User = self.ask(api::account(operation)).await?;
        Ok(None)
    }

    /// A create that failed may leave a contract, stopped and billed for its disk: it is ended here, by the id that the
    /// answer itself names.
    async fn end_leftover(&self, contract: &str, why: String) -> Error {
        let ended = self.tell(api::destroy(Operation::Rent, contract)).await;
        match ended {
            Ok(()) => self.client.error(
                Operation::Rent,
                ErrorKind::NoCapacity,
                why,
                "Another offer may do.",
            ),
            Err(error) => self.client.garbled(
                Operation::Rent,
                format!(
                    "{why}; and the instance {contract} it left could not be ended: {}",
                    error.message
                ),
            ),
        }
    }
}

#[async_trait]
impl Provider for Vast {
    fn name(&self) -> &'static str {
        NAME
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            stop: StopSupport::KeepsDisk,
            labels: Labels::Repeatable,
            disk: DiskLimit::Enforced,
            image: Image::Optional,
            volumes: VolumeSupport::HostLocal,
            interruptible: true,
            self_destruct: true,
        }
    }

    async fn rate_card(&self, offer: &Offer) -> Result<RateCard> {
        let body = offers::query_one(offer, ANY_DISK);
        let found = self.asks(Operation::RateCard, body, ANY_DISK).await?;
        let same = found.into_iter().find(|found| found.id == offer.id);
        same.map(|found| found.card).ok_or_else(|| {
            let message = format!("offer {} is no longer there", offer.id);
            let remedy = "Search again: somebody else was faster.";
            self.client
                .error(Operation::RateCard, ErrorKind::NoCapacity, message, remedy)
        })
    }

    async fn search(&self, request: &OfferRequest) -> Result<Vec<Offer>> {
        let Some(body) = offers::query(request) else {
            return Ok(Vec::new());
        };
        let mut found = self.asks(Operation::Search, body, request.disk).await?;
        let rate = |offer: &Offer| offer.card.running_rate(request.disk);
        found.retain(|offer| {
            let near =
                |region: &String| offer.region.as_ref().is_some_and(|it| it.contains(region));
            request.gpu.is_met_by(&offer.gpu)
                && request.max_price.is_none_or(|most| rate(offer) <= most)
                && request.region.as_ref().is_none_or(near)
        });
        found.sort_by_key(rate);
        Ok(found)
    }

    async fn rent(&self, request: &RentRequest) -> Result<Instance> {
        self.needs_key(Operation::Rent)?;
        let wrong = |message: &str, remedy: &str| {
            self.client
                .error(Operation::Rent, ErrorKind::InvalidRequest, message, remedy)
        };
        if request.offer.provider != NAME || request.offer.id.parse::<u64>().is_err() {
            let message = format!("`{}` is no offer of vast", request.offer.id);
            return Err(wrong(&message, "Search again: gpurun offers."));
        }
        if request.disk < SMALLEST_DISK {
            return Err(wrong(
                "a box here has at least 8 GB of disk",
                "Ask for 8 GB or more.",
            ));
        }
        let call = api::create(&request.offer.id, create_body(request));
        let reply = self.client.write(&call).await?;
        let created: Created = self.understand(Operation::Rent, &reply)?;
        let Some(id) = created.new_contract else {
            return Err(self.client.garbled(Operation::Rent, "it names no instance"));
        };
        if !created.success {
            let why = created.msg.or(created.error).unwrap_or_default();
            return Err(self.end_leftover(&id, why).await);
        }
        if let Some(line) = &request.ssh_public_key {
            // One that fails is made up for by `authorize`, when the box doesn't let us in.
            let attached = self.tell(api::attach_key(Operation::Rent, &id, line)).await;
            if let Err(error) = attached {
                tracing::warn!("the key isn't attached to {id} yet: {error}");
            }
        }
        Ok(Instance {
            id,
            label: Some(request.label.clone()),
            state: InstanceState::Creating,
            created_at: None,
            state_since: None,
            access: None,
            gpus: None,
            disk: Some(request.disk),
            price: None::<HourlyRate>,
            message: None,
        })
    }

    async fn describe(&self, id: &str) -> Result<Option<Instance>> {
        let found = self.find(Operation::Describe, id).await?;
        Ok(found.as_ref().map(convert::instance))
    }

    async fn list_mine(&self) -> Result<Vec<Instance>> {
        self.needs_key(Operation::List)?;
        let (mut all, mut seen, mut after) = (Vec::new(), HashSet::new(), None);
        loop {
            let page: Page = self.ask(api::list(after.as_deref())).await?;
            all.extend(page.instances.iter().map(convert::instance));
            let Some(next) = page.next_token else {
                let known = page.instances_found.unwrap_or(all.len());
                if all.len() < known {
                    let why = format!("it shows {} of {known} instances", all.len());
                    return Err(self.client.garbled(Operation::List, why));
                }
                return Ok(all);
            };
            if !seen.insert(next.clone()) {
                let why = "its pages go round in circles";
                return Err(self.client.garbled(Operation::List, why));
            }
            after = Some(next);
        }
    }

    async fn start(&self, id: &str) -> Result<()> {
        self.needs_key(Operation::Start)?;
        self.tell(api::set_state(Operation::Start, id, "running"))
            .await
    }

    async fn stop(&self, id: &str) -> Result<()> {
        self.needs_key(Operation::Stop)?;
        self.tell(api::set_state(Operation::Stop, id, "stopped"))
            .await
    }

    async fn destroy(&self, id: &str) -> Result<()> {
        self.needs_key(Operation::Destroy)?;
        match self.tell(api::destroy(Operation::Destroy, id)).await {
            Err(error) if error.kind == ErrorKind::Gone => {
                match self.find(Operation::Destroy, id).await? {
                    None => Ok(()),
                    Some(_) => Err(error.with_temporary(true)),
                }
            }
            told => told,
        }
    }

    async fn authorize(&self, id: &str, ssh_public_key: &str) -> Result<bool> {
        self.needs_key(Operation::Rent)?;
        self.tell(api::attach_key(Operation::Rent, id, ssh_public_key))
            .await?;
        Ok(true)
    }

    async fn account(&self) -> Result<Account> {
        self.needs_key(Operation::Account)?;
        let user: User = self.ask(api::account(Operation::Account)).await?;
        Ok(Account {
            id: Some(user.id),
            balance: user.credit.map(Money::new),
            ..Account::default()
        })
    }

    fn volumes(&self) -> Option<&dyn Volumes> {
        Some(self)
    }
}

fn is_nothing(instances: &Value) -> bool {
    instances.is_null() || instances.as_array().is_some_and(Vec::is_empty)
}

/// The body of a create. `cancel_unavail` true: where the GPUs are gone, no stopped contract that is billed for its disk.
fn create_body(request: &RentRequest) -> Value {
    let offer = &request.offer;
    let price = match offer.market {
        Market::OnDemand => Value::Null,
        Market::Interruptible => offers::float(offer.card.running.amount()),
    };
    let mut body = json!({
        "client_id": "me",
        "image": request.image.as_deref().unwrap_or(USUAL_IMAGE),
        "env": {},
        "disk": offers::float(request.disk.amount()),
        "label": request.label,
        "runtype": "ssh_direct",
        "target_state": "running",
        "cancel_unavail": true,
        "price": price,
    });
    if let Some(volume) = &request.volume {
        let id = volume.id.parse::<u64>().map_or(Value::Null, Value::from);
        body["volume_info"] = json!({"volume_id": id, "mount_path": volume.path});
    }
    body
}
