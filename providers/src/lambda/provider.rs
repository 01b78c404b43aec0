//! The calls.

use async_trait::async_trait;
use gpurun_pricing::{Market, Offer, RateCard, StopSupport};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::api::{self, Data, Key, Launched, Machine, Terminated, Types};
use super::{NAME, convert, errors};
use crate::account::Account;
use crate::capabilities::{Capabilities, DiskLimit, Image, Labels, VolumeSupport};
use crate::clock;
use crate::config::CloudConfig;
use crate::error::{Error, ErrorKind, Operation, Result};
use crate::http::{Call, Client, Service};
use crate::instance::{Instance, InstanceState};
use crate::provider::{OfferRequest, Provider, RentRequest};
use crate::public_key;
use crate::volume::Volumes;

const SERVICE: Service = Service {
    provider: NAME,
    base_url: api::BASE_URL,
    refusal: errors::refusal,
    key_remedy: "Make a key at https://cloud.lambda.ai/api-keys and put it into $LAMBDA_API_KEY.",
};

/// One account at Lambda Cloud.
#[derive(Clone, Debug)]
pub struct Lambda {
    pub(super) client: Client,
}

impl Lambda {
    pub fn new(config: &CloudConfig) -> Self {
        Self {
            client: Client::new(SERVICE, config.base_url.as_deref(), config),
        }
    }

    /// Asks, and reads the answer as what it should be.
    pub(super) async fn ask<T: DeserializeOwned>(&self, call: Call) -> Result<T> {
        self.needs_key(call.operation)?;
        let reply = self.client.read(&call).await?;
        self.understand(call.operation, reply.json())
    }

    /// Sends a write once.
    pub(super) async fn tell<T: DeserializeOwned>(&self, call: Call) -> Result<T> {
        self.needs_key(call.operation)?;
        let reply = self.client.write(&call).await?;
        self.understand(call.operation, reply.json())
    }

    fn understand<T>(
        &self,
        operation: Operation,
        read: std::result::Result<Data<T>, String>,
    ) -> Result<T> {
        read.map(|read| read.data)
            .map_err(|why| self.client.garbled(operation, why))
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

    async fn offers(&self, operation: Operation) -> Result<Vec<Offer>> {
        let types: Types = self.ask(api::types(operation)).await?;
        let today = clock::now().date_naive();
        Ok(types
            .values()
            .flat_map(|found| convert::offers(found, today))
            .collect())
    }

    async fn machine(&self, operation: Operation, id: &str) -> Result<Option<Machine>> {
        match self.ask(api::show(operation, id)).await {
            Ok(machine) => Ok(Some(machine)),
            Err(error) if error.kind == ErrorKind::Gone => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The one key a box takes, by its name in the account: the run's own, which bears the box's name.
    async fn key_for(&self, request: &RentRequest) -> Result<String> {
        let keys: Vec<Key> = self.ask(api::keys(Operation::Rent)).await?;
        let Some(line) = &request.ssh_public_key else {
            let first = keys.into_iter().next().map(|key| key.name);
            return first.ok_or_else(|| {
                let message = "a box here takes a key of the account, and the account has none";
                self.wrong(message, "Add one at https://cloud.lambda.ai/ssh-keys.")
            });
        };
        match keys.iter().find(|key| key.name == request.label) {
            Some(key) if public_key::is_same(&key.public_key, line) => {}
            Some(_) => {
                let message = format!("the account has another key named {}", request.label);
                return Err(self.wrong(message, "Delete it at https://cloud.lambda.ai/ssh-keys."));
            }
            None => {
                let _: Key = self.tell(api::add_key(&request.label, line)).await?;
            }
        }
        Ok(request.label.clone())
    }

    /// Takes the run's own key out of the account, once its box needs it no more. It costs nothing, so a failure is no
    /// failure of what it belongs to.
    async fn forget_key(&self, operation: Operation, name: &str) {
        let forgotten: Result<()> = async {
            // Asked once: nobody waits long for what can be done at the next look.
            let keys: Vec<Key> = self.tell(api::keys(operation)).await?;
            let Some(key) = keys.into_iter().find(|key| key.name == name) else {
                return Ok(());
            };
            let _: Value = self.tell(api::delete_key(operation, &key.id)).await?;
            Ok(())
        }
        .await;
        if let Err(error) = forgotten {
            tracing::warn!("the key {name} is still in the account: {error}");
        }
    }

    /// The key that came with a box of ours is named like it; another is somebody's.
    async fn forget_key_of(&self, operation: Operation, machine: &Machine) {
        let Some(label) = convert::label(machine) else {
            return;
        };
        if machine.ssh_key_names.contains(&label) {
            self.forget_key(operation, &label).await;
        }
    }
}

#[async_trait]
impl Provider for Lambda {
    fn name(&self) -> &'static str {
        NAME
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            stop: StopSupport::None,
            labels: Labels::Repeatable,
            disk: DiskLimit::Enforced,
            image: Image::Unsupported,
            volumes: VolumeSupport::Network,
            interruptible: false,
            self_destruct: false,
        }
    }

    async fn rate_card(&self, offer: &Offer) -> Result<RateCard> {
        let found = self.offers(Operation::RateCard).await?;
        let same = found.into_iter().find(|found| found.id == offer.id);
        same.map(|found| found.card).ok_or_else(|| {
            let message = format!("there is no room for {} now", offer.id);
            let remedy = "Take another type or region, or try later.";
            self.client
                .error(Operation::RateCard, ErrorKind::NoCapacity, message, remedy)
        })
    }

    async fn search(&self, request: &OfferRequest) -> Result<Vec<Offer>> {
        if request.market == Market::Interruptible {
            return Ok(Vec::new());
        }
        let mut found = self.offers(Operation::Search).await?;
        found.retain(|offer| {
            let is_there = |region: &String| offer.region.as_ref() == Some(region);
            request.gpu.is_met_by(&offer.gpu)
                && offer.disk_available.is_none_or(|disk| disk >= request.disk)
                && request
                    .max_price
                    .is_none_or(|most| offer.card.running <= most)
                && request.region.as_ref().is_none_or(is_there)
        });
        found.sort_by_key(|offer| offer.card.running);
        Ok(found)
    }

    async fn rent(&self, request: &RentRequest) -> Result<Instance> {
        let Some((kind, region)) = convert::parse_offer(&request.offer) else {
            let message = format!("`{}` is no offer of lambda", request.offer.id);
            return Err(self.wrong(message, "Search again: gpurun offers."));
        };
        if let Some(image) = &request.image {
            let message =
                format!("a box here runs the vendor's own system, and `{image}` was asked for");
            return Err(self.wrong(message, "Leave the image out, or rent elsewhere."));
        }
        let key = self.key_for(request).await?;
        let body = launch_body(request, (kind, region), &key);
        let launched = match self.tell::<Launched>(api::launch(body)).await {
            Ok(launched) => launched,
            Err(error) => {
                if !error.kind.may_have_acted() && request.ssh_public_key.is_some() {
                    self.forget_key(Operation::Rent, &key).await;
                }
                return Err(error);
            }
        };
        let Some(id) = launched.instance_ids.into_iter().next() else {
            return Err(self.client.garbled(Operation::Rent, "it names no instance"));
        };
        Ok(Instance {
            id,
            label: Some(request.label.clone()),
            state: InstanceState::Creating,
            created_at: None,
            state_since: None,
            access: None,
            gpus: None,
            disk: request.offer.disk_available,
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

    async fn destroy(&self, id: &str) -> Result<()> {
        let told: Result<Terminated> = self.tell(api::terminate(id)).await;
        match told {
            Ok(ended) => {
                let mut named = ended.terminated_instances.iter();
                let Some(machine) = named.find(|it| it.id == id) else {
                    let why = "it doesn't name what it ended";
                    return Err(self.client.garbled(Operation::Destroy, why));
                };
                // Once the box isn't listed any more, nothing tells whose key it was.
                self.forget_key_of(Operation::Destroy, machine).await;
                Ok(())
            }
            Err(error) if error.kind == ErrorKind::Gone => Ok(()),
            // What is ending already is refused in this way.
            Err(error) if error.kind == ErrorKind::Unknown => {
                let machine = self.machine(Operation::Destroy, id).await?;
                match machine.as_ref().and_then(convert::instance) {
                    None => Ok(()),
                    Some(found) if found.state == InstanceState::Destroying => Ok(()),
                    Some(_) => Err(error),
                }
            }
            Err(error) => Err(error),
        }
    }

    async fn account(&self) -> Result<Account> {
        // No call tells a balance; this one tells whether the key opens the account.
        let _: Vec<Key> = self.ask(api::keys(Operation::Account)).await?;
        Ok(Account::default())
    }

    fn volumes(&self) -> Option<&dyn Volumes> {
        Some(self)
    }
}

impl Lambda {
    fn no_stop(&self, operation: Operation) -> Error {
        let message = "a box here can't be stopped: it runs or is gone";
        let remedy = "Destroy it once its weights are safe.";
        self.client
            .error(operation, ErrorKind::InvalidRequest, message, remedy)
    }
}

fn launch_body(request: &RentRequest, (kind, region): (&str, &str), key: &str) -> Value {
    let mut body = json!({
        "region_name": region,
        "instance_type_name": kind,
        "ssh_key_names": [key],
        "name": request.label,
        "tags": [
            {"key": convert::TAG, "value": request.label},
            {"key": convert::TAG_AT, "value": clock::now().timestamp().to_string()},
        ],
    });
    if let Some(volume) = &request.volume {
        body["file_system_mounts"] =
            json!([{"file_system_id": volume.id, "mount_point": volume.path}]);
    }
    body
}
