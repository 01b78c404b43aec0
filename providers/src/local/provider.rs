//! The contract, kept by folders.

use async_trait::async_trait;
use gpurun_pricing::{Market, Offer, RateCard, StopSupport};

use super::NAME;
use super::api::{BoxFile, BoxState, StateChange, VERSION};
use super::boxes::{Boxes, Found, new_id};
use super::config::LocalConfig;
use super::convert::{self, LocalGpu};
use super::transitions::{self, Obstacle};
use crate::account::Account;
use crate::capabilities::{Capabilities, DiskLimit, Image, Labels, VolumeSupport};
use crate::clock;
use crate::error::{Error, ErrorKind, Operation, Result};
use crate::instance::Instance;
use crate::provider::{OfferRequest, Provider, RentRequest};
use crate::volume::Volumes;

/// The boxes of this machine below one folder. Any number of clients, in any number of processes, may use the same.
#[derive(Clone, Debug)]
pub struct Local {
    config: LocalConfig,
    boxes: Boxes,
}

impl Local {
    pub fn new(config: LocalConfig) -> Self {
        let boxes = Boxes::new(config.root.clone());
        Self { config, boxes }
    }

    /// GPUs of this machine by the name asked for; all of them without one.
    async fn gpus(&self, operation: Operation, name: Option<&str>) -> Result<Vec<LocalGpu>> {
        let present = super::gpus::present(&self.config.nvidia_smi)
            .await
            .map_err(|why| {
                Error::new(
                    NAME,
                    operation,
                    ErrorKind::Unavailable,
                    why,
                    "Run nvidia-smi by hand and mend the driver.",
                )
            })?;
        Ok(present
            .into_iter()
            .filter(|gpu| name.is_none_or(|name| gpu.name == name))
            .collect())
    }

    /// Runs file work where it may block, on a copy of this client.
    async fn blocking<T, F>(&self, operation: Operation, work: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&Self) -> Result<T, Obstacle> + Send + 'static,
    {
        let client = self.clone();
        match tokio::task::spawn_blocking(move || work(&client)).await {
            Ok(result) => result.map_err(|obstacle| convert::error(operation, &obstacle)),
            Err(join) => Err(Error::new(
                NAME,
                operation,
                ErrorKind::Unknown,
                join.to_string(),
                "Report this as a bug.",
            )),
        }
    }

    fn look(&self, found: Found) -> Result<Option<Instance>, Obstacle> {
        let settled = transitions::settle(&self.boxes, found, self.config.stop_grace)?;
        Ok(settled.map(|found| convert::instance(&found, self.boxes.home(found.id()))))
    }

    fn make(
        &self,
        request: &RentRequest,
        gpu_name: Option<String>,
        gpu_count: u32,
        present: &[u32],
    ) -> Result<Instance, Obstacle> {
        let allocation = self.boxes.lock_allocation()?;
        let taken = self.boxes.list()?;
        let same_label =
            |found: &&Found| matches!(found, Found::Whole(file) if file.label == request.label);
        if let Some(other) = taken.iter().find(same_label) {
            return Err(Obstacle::LabelInUse {
                label: request.label.clone(),
                id: other.id().to_owned(),
            });
        }
        let file = BoxFile {
            version: VERSION,
            id: new_id(),
            label: request.label.clone(),
            disk_gb: request.disk,
            gpus: transitions::free_gpus(&self.boxes, present, gpu_count)?,
            gpu_count,
            gpu_name,
            rates: convert::rate_card(&self.config, gpu_count),
            timeline: vec![StateChange {
                state: BoxState::Running,
                at: clock::now(),
            }],
        };
        self.boxes.create(&allocation, &file)?;
        Ok(convert::instance(
            &Found::Whole(Box::new(file.clone())),
            self.boxes.home(&file.id),
        ))
    }
}

#[async_trait]
impl Provider for Local {
    fn name(&self) -> &'static str {
        NAME
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            stop: StopSupport::KeepsDisk,
            labels: Labels::Unique,
            disk: DiskLimit::Measured,
            image: Image::Unsupported,
            volumes: VolumeSupport::None,
            interruptible: false,
            self_destruct: false,
        }
    }

    async fn rate_card(&self, offer: &Offer) -> Result<RateCard> {
        let (_, gpus) = offered(Operation::RateCard, offer)?;
        Ok(convert::rate_card(&self.config, gpus))
    }

    async fn search(&self, request: &OfferRequest) -> Result<Vec<Offer>> {
        if request.market == Market::Interruptible || request.region.is_some() {
            return Ok(Vec::new());
        }
        let mut free = match request.gpu.count() {
            0 => Vec::new(),
            _ => self.gpus(Operation::Search, None).await?,
        };
        let taken = self
            .blocking(Operation::Search, |client| {
                Ok(transitions::taken_gpus(&client.boxes.list()?))
            })
            .await?;
        free.retain(|gpu| !taken.contains(&gpu.index));
        let mut offers = convert::offers(&self.config, &request.gpu, &free);
        let dear = |offer: &Offer| {
            request
                .max_price
                .is_some_and(|most| offer.card.running_rate(request.disk) > most)
        };
        offers.retain(|offer| !dear(offer));
        Ok(offers)
    }

    async fn rent(&self, request: &RentRequest) -> Result<Instance> {
        let wrong = |message: String, remedy: &str| {
            Err(Error::new(
                NAME,
                Operation::Rent,
                ErrorKind::InvalidRequest,
                message,
                remedy,
            ))
        };
        if !is_label(&request.label) {
            return wrong(
                format!("`{}` can't be a label", request.label),
                "Use 1 to 63 lower-case letters, digits and dashes.",
            );
        }
        if let Some(image) = &request.image {
            return wrong(
                format!("a local box has no image, and `{image}` was asked for"),
                "Leave the image out, or rent elsewhere.",
            );
        }
        if request.volume.is_some() {
            return wrong(
                "a local box takes no volume".to_owned(),
                "Leave the volume out: what is on this machine's disk is in the box's reach anyway.",
            );
        }
        let (name, count) = offered(Operation::Rent, &request.offer)?;
        let present = match name {
            None => Vec::new(),
            Some(name) => self.gpus(Operation::Rent, Some(name)).await?,
        };
        let (request, name) = (request.clone(), name.map(str::to_owned));
        let present: Vec<u32> = present.iter().map(|gpu| gpu.index).collect();
        self.blocking(Operation::Rent, move |client| {
            client.make(&request, name, count, &present)
        })
        .await
    }

    async fn describe(&self, id: &str) -> Result<Option<Instance>> {
        let id = id.to_owned();
        let look = move |client: &Self| match client.boxes.read(&id)? {
            Some(found) => client.look(found),
            None => {
                transitions::end_vanished(&id, client.config.stop_grace)?;
                Ok(None)
            }
        };
        self.blocking(Operation::Describe, look).await
    }

    async fn list_mine(&self) -> Result<Vec<Instance>> {
        let look = |client: &Self| {
            client
                .boxes
                .list()?
                .into_iter()
                .filter_map(|found| client.look(found).transpose())
                .collect()
        };
        self.blocking(Operation::List, look).await
    }

    async fn start(&self, id: &str) -> Result<()> {
        let id = id.to_owned();
        let gpu_name = |client: &Self, id: &str| match client.boxes.read(id)? {
            Some(Found::Whole(file)) => Ok(file.gpu_name),
            _ => Ok(None),
        };
        let asked = id.clone();
        let found = self.blocking(Operation::Start, move |client| gpu_name(client, &asked));
        let present = match found.await? {
            Some(name) => self.gpus(Operation::Start, Some(&name)).await?,
            None => Vec::new(),
        };
        let present: Vec<u32> = present.iter().map(|gpu| gpu.index).collect();
        let start = move |client: &Self| {
            transitions::start(&client.boxes, &id, client.config.stop_grace, &present)
        };
        self.blocking(Operation::Start, start).await
    }

    async fn stop(&self, id: &str) -> Result<()> {
        let id = id.to_owned();
        self.blocking(Operation::Stop, move |client| {
            transitions::stop(&client.boxes, &id, client.config.stop_grace)
        })
        .await
    }

    async fn destroy(&self, id: &str) -> Result<()> {
        let id = id.to_owned();
        self.blocking(Operation::Destroy, move |client| {
            transitions::destroy(&client.boxes, &id, client.config.stop_grace)
        })
        .await
    }

    async fn account(&self) -> Result<Account> {
        Ok(Account::default())
    }

    fn volumes(&self) -> Option<&dyn Volumes> {
        None
    }
}

fn offered(operation: Operation, offer: &Offer) -> Result<(Option<&str>, u32)> {
    convert::parse_offer_id(&offer.id)
        .filter(|_| offer.provider == NAME)
        .ok_or_else(|| {
            let message = format!(
                "`{}` of {} is no offer of this machine",
                offer.id, offer.provider
            );
            Error::new(
                NAME,
                operation,
                ErrorKind::NoCapacity,
                message,
                "Search again: gpurun offers.",
            )
            .with_temporary(false)
        })
}

fn is_label(label: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=63).contains(&label.len()) && label.bytes().all(plain)
}
