//! Vast.ai's simulator as a world.

use std::sync::Arc;

use async_trait::async_trait;
use gpurun_clouds::Cloud;
use gpurun_clouds::vast::Vast as Simulator;
use gpurun_pricing::Gigabytes;
use gpurun_providers::conformance::{Harness, World};
use gpurun_providers::vast::Vast;
use gpurun_providers::{OfferRequest, Provider};
use rust_decimal::Decimal;

use super::{SimTime, strict};

pub(crate) struct VastHarness;

struct VastWorld(Arc<Cloud>);

#[async_trait]
impl Harness for VastHarness {
    fn provider(&self) -> &'static str {
        "vast"
    }

    async fn world(&self) -> Result<Box<dyn World>, String> {
        let cloud = Simulator::start(strict()).map_err(|error| error.to_string())?;
        Ok(Box::new(VastWorld(Arc::new(cloud))))
    }
}

impl World for VastWorld {
    fn client(&self) -> Box<dyn Provider> {
        Box::new(Vast::new(&SimTime::config(&self.0)))
    }

    fn request(&self) -> OfferRequest {
        let gpu = "4090x1".parse().expect("a GPU of the table");
        OfferRequest::new(gpu, Gigabytes::new(Decimal::from(20)))
    }
}
