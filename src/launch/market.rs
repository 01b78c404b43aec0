//! Which provider a job is for, and what that has to rent.

use crate::error::{Failure, Result};
use crate::exit_code::ExitCode;
use crate::job::JobSpec;
use crate::observe;
use crate::shell;
use gpurun_pricing::offer::rank;
use gpurun_pricing::{Gigabytes, GpuRequest, Offer};
use gpurun_providers::Provider;

/// Where the box comes from.
pub(crate) enum Market {
    /// Offers of one provider, the cheapest job first.
    Offers(Vec<Offer>),
    /// A GPU was asked for, and no cloud can be asked.
    NoKey,
}

/// Named, else `cpu` means this machine, and a GPU means every cloud that has a key.
pub(crate) async fn market(
    providers: &[Box<dyn Provider>],
    job: &JobSpec,
    disk: Gigabytes,
    shape: &gpurun_pricing::estimate::JobShape,
) -> Result<Market> {
    let name = match (job.provider.as_deref(), &job.gpu) {
        (Some(name), _) => name,
        (None, GpuRequest::Cpu) => "local",
        (None, GpuRequest::Gpus(_)) => return Ok(Market::NoKey),
    };
    let Some(provider) = shell::provider(providers, name) else {
        return Ok(Market::NoKey);
    };
    let offers = observe::offers(provider, &job.gpu, disk, job.max_price).await?;
    let ranked = rank(offers, &job.gpu, shape);
    if ranked.is_empty() {
        return Err(Failure::new(
            ExitCode::Provider,
            format!("{name} has no {} to rent{}", job.gpu, limit(job)),
            format!("`gpurun offers --provider {name}` lists what it has"),
        ));
    }
    Ok(Market::Offers(
        ranked.into_iter().map(|ranked| ranked.offer).collect(),
    ))
}

fn limit(job: &JobSpec) -> String {
    job.max_price
        .map_or_else(String::new, |price| format!(" at {price} or less"))
}
