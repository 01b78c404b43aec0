//! The calls.

use async_trait::async_trait;
use gpurun_pricing::{Market, Money, Offer, RateCard, StopSupport};
use rust_decimal::prelude::ToPrimitive;
use serde::de::DeserializeOwned;

use super::api::{self, Balance, InstanceType, Key, Machine, Order, Room, VolumeType};
use super::token::Door;
use super::{NAME, convert, errors};
use crate::account::Account;
use crate::capabilities::{Capabilities, DiskLimit, Image, Labels, VolumeSupport};
use crate::clock;
use crate::config::CloudConfig;
use crate::error::{Error, ErrorKind, Operation, Result};
use crate::http::{Call, Reply, Service};
use crate::instance::{Instance, InstanceState};
use crate::provider::{OfferRequest, Provider, RentRequest};
use crate::public_key;
use crate::volume::Volumes;

const SERVICE: Service = Service {
    provider: NAME,
    base_url: api::BASE_URL,
    refusal: errors::refusal,
    key_remedy: "Make a key at https://console.verda.com/dashboard/account/api-keys and put it into $VERDA_CLIENT_ID and $VERDA_CLIENT_SECRET.",
};

/// One account at Verda.
#[derive(Clone, Debug)]
pub struct Verda {
    door: Door,
}

impl Verda {
    pub fn new(config: &CloudConfig) -> Self {
        Self {
            door: Door::new(SERVICE, config),
        }
    }

    /// Asks, and reads the answer as what it should be. A token that is refused before its time is bought anew, once.
    async fn ask<T: DeserializeOwned>(&self, call: Call) -> Result<T> {
        let told = self.door.open(call.operation).await?.read(&call).await;
        let reply = match told {
            Err(error) if error.kind == ErrorKind::Credentials => {
                self.door.close();
                self.door.open(call.operation).await?.read(&call).await?
            }
            told => told?,
        };
        reply
            .json()
            .map_err(|why| self.door.outside().garbled(call.operation, why))
    }

    /// Sends a write once.
    async fn tell(&self, call: Call) -> Result<Reply> {
        let told = self.door.open(call.operation).await?.write(&call).await;
        if matches!(&told, Err(error) if error.kind == ErrorKind::Credentials) {
            self.door.close();
        }
        told
    }

    fn wrong(&self, message: impl Into<String>, remedy: &str) -> Error {
        self.error(Operation::Rent, ErrorKind::InvalidRequest, message, remedy)
    }

    fn error(
        &self,
        operation: Operation,
        kind: ErrorKind,
        message: impl Into<String>,
        remedy: &str,
    ) -> Error {
        self.door.outside().error(operation, kind, message, remedy)
    }

    async fn offers(&self, operation: Operation) -> Result<Vec<Offer>> {
        let types: Vec<InstanceType> = self.ask(api::types(operation)).await?;
        let room: Vec<Room> = self.ask(api::availability(operation)).await?;
        let disks: Vec<VolumeType> = self.ask(api::volume_types(operation)).await?;
        let disk = convert::disk_rate(&disks).ok_or_else(|| {
            let why = "it doesn't say what a box's disk costs";
            self.door.outside().garbled(operation, why)
        })?;
        let today = clock::now().date_naive();
        Ok(convert::offers(&types, &room, disk, today))
    }

    async fn machine(&self, operation: Operation, id: &str) -> Result<Option<Machine>> {
        match self.ask(api::show(operation, id)).await {
            Ok(machine) => Ok(Some(machine)),
            Err(error) if error.kind == ErrorKind::Gone => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The id of the key a box takes: the run's own, which bears the box's name, or else the account's first.
    async fn key_for(&self, request: &RentRequest) -> Result<String> {
        let keys: Vec<Key> = self.ask(api::keys(Operation::Rent)).await?;
        let Some(line) = &request.ssh_public_key else {
            let first = keys.into_iter().next().map(|key| key.id);
            return first.ok_or_else(|| {
                let message = "a box here takes a key of the account, and the account has none";
                self.wrong(message, "Add one at https://console.verda.com.")
            });
        };
        match keys.iter().find(|key| key.name == request.label) {
            Some(key) if public_key::is_same(&key.key, line) => Ok(key.id.clone()),
            Some(_) => {
                let message = format!("the account has another key named {}", request.label);
                Err(self.wrong(message, "Delete it at https://console.verda.com."))
            }
            None => {
                let added = self.tell(api::add_key(&request.label, line)).await?;
                self.id_in(&added)
            }
        }
    }

    fn id_in(&self, reply: &Reply) -> Result<String> {
        api::new_id(&reply.text).ok_or_else(|| {
            let why = format!("an answer that is no id: {}", reply.excerpt());
            self.door.outside().garbled(Operation::Rent, why)
        })
    }

    /// Takes the run's own key out of the account, once its box needs it no more. It costs nothing, so a failure is no
    /// failure of what it belongs to.
    async fn forget_key(&self, operation: Operation, id: &str) {
        if let Err(error) = self.tell(api::delete_key(operation, id)).await {
            tracing::warn!("the key {id} is still in the account: {error}");
        }
    }

    /// The key that came with a box of ours is named like it; another is somebody's.
    async fn forget_key_of(&self, operation: Operation, machine: &Machine) {
        let Ok(reply) = self.tell(api::keys(operation)).await else {
            return;
        };
        let keys: Vec<Key> = reply.json().unwrap_or_default();
        let own = keys.into_iter().find(|key| {
            machine.ssh_key_ids.contains(&key.id) && Some(&key.name) == machine.hostname.as_ref()
        });
        if let Some(key) = own {
            self.forget_key(operation, &key.id).await;
        }
    }

    fn no_stop(&self, operation: Operation) -> Error {
        let message = "a stop here saves nothing: a shut down box costs what a running one does";
        let remedy = "Destroy it once its weights are safe.";
        self.error(operation, ErrorKind::InvalidRequest, message, remedy)
    }
}

#[async_trait]
impl Provider for Verda {
    fn name(&self) -> &'static str {
        NAME
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            stop: StopSupport::None,
            labels: Labels::Repeatable,
            disk: DiskLimit::Enforced,
            image: Image::Unsupported,
            volumes: VolumeSupport::None,
            interruptible: false,
            self_destruct: false,
        }
    }

    async fn rate_card(&self, offer: &Offer) -> Result<RateCard> {
        let found = self.offers(Operation::RateCard).await?;
        let same = found.into_iter().find(|found| found.id == offer.id);
        same.map(|found| found.card).ok_or_else(|| {
            let message = format!("there is no room for {} now", offer.id);
            let remedy = "Take another type or location, or try later.";
            self.error(Operation::RateCard, ErrorKind::NoCapacity, message, remedy)
        })
    }

    async fn search(&self, request: &OfferRequest) -> Result<Vec<Offer>> {
        if request.market == Market::Interruptible {
            return Ok(Vec::new());
        }
        let mut found = self.offers(Operation::Search).await?;
        found.retain(|offer| {
            let is_there = |region: &String| offer.region.as_ref() == Some(region);
            let price = offer.card.running_rate(request.disk);
            request.gpu.is_met_by(&offer.gpu)
                && request.max_price.is_none_or(|most| price <= most)
                && request.region.as_ref().is_none_or(is_there)
        });
        found.sort_by_key(|offer| offer.card.running);
        Ok(found)
    }

    async fn rent(&self, request: &RentRequest) -> Result<Instance> {
        let Some((kind, location)) = convert::parse_offer(&request.offer) else {
            let message = format!("`{}` is no offer of verda", request.offer.id);
            return Err(self.wrong(message, "Search again: gpurun offers."));
        };
        if let Some(image) = &request.image {
            let message =
                format!("a box here runs the vendor's own system, and `{image}` was asked for");
            return Err(self.wrong(message, "Leave the image out, or rent elsewhere."));
        }
        let Some(disk) = request.disk.amount().ceil().to_u64() else {
            return Err(self.wrong("no disk is that large", "Ask for a smaller one."));
        };
        let key = self.key_for(request).await?;
        let order = Order {
            kind,
            location,
            label: &request.label,
            key: &key,
            disk,
            description: &convert::disk_note(disk, request.offer.card.disk_running),
        };
        let created = match self.tell(api::create(&order)).await {
            Ok(created) => created,
            Err(error) => {
                if !error.kind.may_have_acted() && request.ssh_public_key.is_some() {
                    self.forget_key(Operation::Rent, &key).await;
                }
                return Err(error);
            }
        };
        Ok(Instance {
            id: self.id_in(&created)?,
            label: Some(request.label.clone()),
            state: InstanceState::Creating,
            created_at: None,
            state_since: None,
            access: None,
            gpus: None,
            disk: Some(request.disk),
            price: None,
            message: None,
        })
    }

    async fn describe(&self, id: &str) -> Result<Option<Instance>> {
        let machine = self.machine(Operation::Describe, id).await?;
        let Some(machine) = machine else {
            return Ok(None);
        };
        let instance = convert::instance(&machine);
        if instance.is_none() {
            self.forget_key_of(Operation::Describe, &machine).await;
        }
        Ok(instance)
    }

    async fn list_mine(&self) -> Result<Vec<Instance>> {
        let machines: Vec<Machine> = self.ask(api::list(Operation::List)).await?;
        Ok(machines.iter().filter_map(convert::instance).collect())
    }

    async fn start(&self, _: &str) -> Result<()> {
        Err(self.no_stop(Operation::Start))
    }

    async fn stop(&self, _: &str) -> Result<()> {
        Err(self.no_stop(Operation::Stop))
    }

    /// The disk has to be named, or it stays and costs: so the box is looked at first.
    async fn destroy(&self, id: &str) -> Result<()> {
        let Some(machine) = self.machine(Operation::Destroy, id).await? else {
            return Ok(());
        };
        if convert::instance(&machine).is_none() {
            return Ok(());
        }
        let told = self
            .tell(api::delete(id, machine.os_volume_id.as_deref()))
            .await;
        match told {
            Err(error) if error.kind != ErrorKind::Gone => Err(error),
            _ => {
                self.forget_key_of(Operation::Destroy, &machine).await;
                Ok(())
            }
        }
    }

    async fn account(&self) -> Result<Account> {
        let balance: Balance = self.ask(api::balance()).await?;
        let is_dollars = balance.currency.is_empty() || balance.currency == "usd";
        Ok(Account {
            balance: is_dollars.then(|| Money::new(balance.amount)),
            ..Account::default()
        })
    }

    fn volumes(&self) -> Option<&dyn Volumes> {
        None
    }
}
