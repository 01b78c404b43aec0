//! What cases are made of.

use std::time::{Duration, Instant};

use gpurun_pricing::Offer;

use super::case::{Failure, ensure};
use super::harness::World;
use crate::instance::{Instance, InstanceState};
use crate::provider::{Provider, RentRequest};

pub(super) const POLL: Duration = Duration::from_millis(10);

pub(super) async fn offer(world: &dyn World, client: &dyn Provider) -> Result<Offer, Failure> {
    let offers = client.search(&world.request()).await?;
    offers
        .into_iter()
        .next()
        .ok_or_else(|| Failure::new("nothing is offered"))
}

pub(super) fn request(world: &dyn World, offer: Offer, label: &str) -> RentRequest {
    RentRequest::new(label, offer, world.request().disk)
}

pub(super) async fn rent(
    world: &dyn World,
    client: &dyn Provider,
    label: &str,
) -> Result<Instance, Failure> {
    let offer = offer(world, client).await?;
    Ok(client.rent(&request(world, offer, label)).await?)
}

pub(super) async fn by_label(client: &dyn Provider, label: &str) -> Result<Vec<Instance>, Failure> {
    let listed = client.list_mine().await?;
    Ok(listed
        .into_iter()
        .filter(|instance| instance.label.as_deref() == Some(label))
        .collect())
}

pub(super) fn ids(instances: &[Instance]) -> Vec<&str> {
    instances
        .iter()
        .map(|instance| instance.id.as_str())
        .collect()
}

/// Looks until the box is in `state`.
pub(super) async fn until(
    world: &dyn World,
    client: &dyn Provider,
    id: &str,
    state: InstanceState,
) -> Result<Instance, Failure> {
    let deadline = Instant::now() + world.patience();
    loop {
        let seen = client
            .describe(id)
            .await?
            .ok_or_else(|| Failure::new(format!("{id} is gone, and was to be {state}")))?;
        if seen.state == state {
            return Ok(seen);
        }
        ensure!(
            Instant::now() < deadline,
            "{id} is {} and not {state} after {} s",
            seen.state,
            world.patience().as_secs()
        );
        tokio::time::sleep(POLL).await;
    }
}

pub(super) async fn until_gone(
    world: &dyn World,
    client: &dyn Provider,
    id: &str,
) -> Result<(), Failure> {
    let deadline = Instant::now() + world.patience();
    while let Some(seen) = client.describe(id).await? {
        ensure!(
            Instant::now() < deadline,
            "{id} is still {} after {} s",
            seen.state,
            world.patience().as_secs()
        );
        tokio::time::sleep(POLL).await;
    }
    Ok(())
}
