//! Disks on one machine, for instances on that machine.

use async_trait::async_trait;
use gpurun_pricing::{GigabyteMonthRate, Gigabytes, HourlyRate, HoursPerMonth};
use serde_json::json;

use super::api::{self, VolumeAsk, VolumeCreated, VolumeList, WireVolume};
use super::offers::float;
use super::provider::Vast;
use crate::error::{ErrorKind, Operation, Result};
use crate::volume::{Volume, VolumeRequest, Volumes};
use crate::wire;

#[derive(serde::Deserialize)]
struct Found {
    offers: Vec<VolumeAsk>,
}

impl Vast {
    /// What a machine lets of its disk on its own.
    async fn volume_ask(&self, request: &VolumeRequest) -> Result<VolumeAsk> {
        let machine: Option<u64> = request.place.parse().ok();
        let body = json!({
            "machine_id": {"eq": machine}, "allocated_storage": float(request.size.amount()),
        });
        let found: Found = self.ask(api::search_volumes(body)).await?;
        let fits = |ask: &VolumeAsk| {
            let most = ask.disk_space.map(Gigabytes::new);
            most.is_none_or(|most| most >= request.size)
        };
        found.offers.into_iter().find(fits).ok_or_else(|| {
            let message = format!(
                "machine {} lets no volume of {} GB",
                request.place,
                request.size.figure()
            );
            let remedy = "Take another machine, or a smaller volume.";
            self.client
                .error(Operation::Volumes, ErrorKind::NoCapacity, message, remedy)
        })
    }
}

#[async_trait]
impl Volumes for Vast {
    async fn create(&self, request: &VolumeRequest) -> Result<Volume> {
        self.needs_key(Operation::Volumes)?;
        let ask = self.volume_ask(request).await?;
        let number = ask.id.parse::<u64>().ok();
        let body =
            json!({"id": number, "size": float(request.size.amount()), "name": request.name});
        let reply = self.client.write(&api::create_volume(body)).await?;
        let created: VolumeCreated = self.understand(Operation::Volumes, &reply)?;
        let id = created.volume_id.or(created.new_contract);
        let Some(id) = id.filter(|_| created.success) else {
            return Err(self
                .client
                .garbled(Operation::Volumes, "it names no volume"));
        };
        Ok(Volume {
            id,
            name: Some(request.name.clone()),
            place: Some(request.place.clone()),
            size: Some(request.size),
            created_at: None,
            attached_to: Vec::new(),
            price: Some(HourlyRate::new(ask.storage_total_cost)),
        })
    }

    async fn list(&self) -> Result<Vec<Volume>> {
        self.needs_key(Operation::Volumes)?;
        let found: VolumeList = self.ask(api::list_volumes()).await?;
        Ok(found.volumes.into_iter().map(volume).collect())
    }

    async fn delete(&self, id: &str) -> Result<()> {
        self.needs_key(Operation::Volumes)?;
        match self.tell(api::delete_volume(id)).await {
            Err(error) if error.kind == ErrorKind::Gone => {
                let left = self.list().await?;
                match left.iter().any(|volume| volume.id == id) {
                    true => Err(error.with_temporary(true)),
                    false => Ok(()),
                }
            }
            told => told,
        }
    }

    async fn rate(&self, request: &VolumeRequest) -> Result<Option<HourlyRate>> {
        let ask = self.volume_ask(request).await?;
        Ok(Some(HourlyRate::new(ask.storage_total_cost)))
    }
}

fn volume(found: WireVolume) -> Volume {
    let size = found.disk_space.map(Gigabytes::new);
    let monthly = found.storage_cost.map(GigabyteMonthRate::new);
    let attached = found.instances.iter().map(ToString::to_string);
    Volume {
        id: found.id,
        name: found.label.filter(|name| !name.is_empty()),
        place: found.machine_id,
        size,
        created_at: found.start_date.and_then(wire::from_epoch),
        attached_to: attached.collect(),
        price: size
            .zip(monthly)
            .map(|(size, monthly)| monthly.per_hour(size, HoursPerMonth::THIRTY_DAYS)),
    }
}
