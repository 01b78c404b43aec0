//! Simulated vendors as worlds for the conformance suite.

mod liar;
mod sim;

use std::sync::Arc;

use async_trait::async_trait;
use gpurun_clouds::{
    Armed, Cloud, Fault, Operation, SimConfig, SimError, TooMany, lambda, runpod, vast, verda,
};
use gpurun_pricing::Gigabytes;
use gpurun_providers::conformance::{Harness, Trouble, World};
use gpurun_providers::lambda::Lambda;
use gpurun_providers::runpod::RunPod;
use gpurun_providers::vast::Vast;
use gpurun_providers::verda::Verda;
use gpurun_providers::{CloudConfig, OfferRequest, Provider};
use rust_decimal::Decimal;

pub(crate) use liar::{Liar, Lie};
pub(crate) use sim::{SimTime, strict};

/// A vendor's simulator and our client for it.
#[derive(Clone, Copy)]
pub(crate) struct Simulated {
    name: &'static str,
    pub(crate) start: fn(SimConfig) -> Result<Cloud, SimError>,
    pub(crate) client: fn(&CloudConfig) -> Box<dyn Provider>,
    /// What its market has.
    pub(crate) gpu: &'static str,
}

/// One for each cloud of the registry.
pub(crate) const SIMULATED: [Simulated; 4] = [
    Simulated {
        name: "vast",
        start: vast::Vast::start,
        client: |config| Box::new(Vast::new(config)),
        gpu: "4090x1",
    },
    Simulated {
        name: "runpod",
        start: runpod::RunPod::start,
        client: |config| Box::new(RunPod::new(config)),
        gpu: "4090x1",
    },
    Simulated {
        name: "lambda",
        start: lambda::Lambda::start,
        client: |config| Box::new(Lambda::new(config)),
        gpu: "a10x1",
    },
    Simulated {
        name: "verda",
        start: verda::Verda::start,
        client: |config| Box::new(Verda::new(&in_two_parts(config))),
        gpu: "h100x1",
    },
];

/// The account's key, where the vendor gives an id with it.
fn in_two_parts(config: &CloudConfig) -> CloudConfig {
    let id = verda::CLIENT_ID.into();
    let secret = config.key.iter().cloned();
    CloudConfig {
        key: std::iter::once(id).chain(secret).collect(),
        ..config.clone()
    }
}

struct SimWorld {
    vendor: Simulated,
    cloud: Arc<Cloud>,
}

#[async_trait]
impl Harness for Simulated {
    fn provider(&self) -> &'static str {
        self.name
    }

    async fn world(&self) -> Result<Box<dyn World>, String> {
        let cloud = (self.start)(strict()).map_err(|error| error.to_string())?;
        let line = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIEIGZ9oOnPJXbyr0iYRFuWHzQZh4ztU0qY8f3bVgYpCD laptop";
        cloud.with(|world| world.add_key("laptop", line));
        Ok(Box::new(SimWorld {
            vendor: *self,
            cloud: Arc::new(cloud),
        }))
    }
}

impl World for SimWorld {
    fn client(&self) -> Box<dyn Provider> {
        (self.vendor.client)(&SimTime::config(&self.cloud))
    }

    fn request(&self) -> OfferRequest {
        let gpu = self.vendor.gpu.parse().expect("a GPU of the table");
        OfferRequest::new(gpu, Gigabytes::new(Decimal::from(20)))
    }

    fn trouble(&self, trouble: Trouble) -> bool {
        for fault in faults(trouble) {
            self.cloud.arm(fault);
        }
        true
    }

    fn calm(&self) {
        self.cloud.disarm();
    }
}

/// The same in the simulators' words.
fn faults(trouble: Trouble) -> Vec<Armed> {
    let next = |operation, fault| vec![Armed::once(fault).on(operation)];
    let looks = |fault: Fault| {
        let of = |operation| Armed::always(fault.clone()).on(operation);
        [Operation::Show, Operation::List].map(of).to_vec()
    };
    let too_soon = |form| Fault::TooManyRequests { form };
    match trouble {
        Trouble::RentAnswerLost => next(Operation::Create, Fault::DropAfterCommit),
        Trouble::RentAnswersError => {
            next(Operation::Create, Fault::ErrorAfterCommit { status: 500 })
        }
        Trouble::OfferTaken => vec![Fault::OfferGone.into()],
        Trouble::RentTooSoon => next(Operation::Create, too_soon(TooMany::Text)),
        Trouble::LookTooSoon(form) => {
            let forms = [TooMany::Text, TooMany::Json, TooMany::RetryAfter];
            let form = forms[usize::from(form) % forms.len()];
            next(Operation::Show, too_soon(form))
        }
        Trouble::EmptyAnswers => looks(Fault::EmptyBody),
        Trouble::WebPages => looks(Fault::HtmlBody),
        Trouble::TornAnswers => looks(Fault::TruncatedBody),
        Trouble::KeyRefused => vec![Armed::always(Fault::AuthExpired)],
        Trouble::DestroyRefused => vec![Armed::always(Fault::DestroyRefused)],
        Trouble::DestroyIgnored => {
            vec![Armed::always(Fault::DeletePersists { seconds: None })]
        }
        Trouble::StartWithoutGpus => vec![Fault::ZeroGpuResume.into()],
    }
}
