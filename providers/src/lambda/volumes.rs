//! File systems of a region, billed by what is on them.

use async_trait::async_trait;
use gpurun_pricing::HourlyRate;
use serde_json::{Value, json};

use super::api::{self, FileSystem};
use super::convert;
use super::provider::Lambda;
use crate::error::{ErrorKind, Result};
use crate::volume::{Volume, VolumeRequest, Volumes};

#[async_trait]
impl Volumes for Lambda {
    async fn create(&self, request: &VolumeRequest) -> Result<Volume> {
        let body = json!({"name": request.name, "region": request.place});
        let made: FileSystem = self.tell(api::create_volume(body)).await?;
        Ok(convert::volume(made))
    }

    async fn list(&self) -> Result<Vec<Volume>> {
        let found: Vec<FileSystem> = self.ask(api::list_volumes()).await?;
        Ok(found.into_iter().map(convert::volume).collect())
    }

    async fn delete(&self, id: &str) -> Result<()> {
        match self.tell::<Value>(api::delete_volume(id)).await {
            Err(error) if error.kind == ErrorKind::Gone => Ok(()),
            told => told.map(|_| ()),
        }
    }

    async fn rate(&self, _: &VolumeRequest) -> Result<Option<HourlyRate>> {
        Ok(None)
    }
}
