//! Network volumes of one data centre.

use async_trait::async_trait;
use gpurun_pricing::HourlyRate;
use serde_json::json;

use super::api::{self, NetworkVolume};
use super::convert;
use super::provider::RunPod;
use crate::error::Result;
use crate::volume::{Volume, VolumeRequest, Volumes};

#[async_trait]
impl Volumes for RunPod {
    async fn create(&self, request: &VolumeRequest) -> Result<Volume> {
        let size = request.size.amount().ceil().to_string();
        let body = json!({
            "name": request.name, "size": size.parse::<u64>().ok(), "dataCenter": request.place,
        });
        let made: NetworkVolume = self.make(api::create_volume(body)).await?;
        Ok(convert::volume(made))
    }

    async fn list(&self) -> Result<Vec<Volume>> {
        let found: api::Volumes = self.ask(api::list_volumes()).await?;
        Ok(found.volumes.into_iter().map(convert::volume).collect())
    }

    async fn delete(&self, id: &str) -> Result<()> {
        self.end(api::delete_volume(id)).await
    }

    async fn rate(&self, request: &VolumeRequest) -> Result<Option<HourlyRate>> {
        Ok(Some(convert::volume_rate(request.size)))
    }
}
