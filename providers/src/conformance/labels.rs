//! Labels, by which a box is found whose reply was lost.

use std::time::Instant;

use super::case::{Failure, ensure};
use super::harness::World;
use super::lost_reply::LostReply;
use super::steps::{POLL, by_label, ids, offer, rent, request, until};
use crate::error::ErrorKind;
use crate::instance::InstanceState;

pub(super) async fn lost_reply_is_found(world: &dyn World) -> Result<(), Failure> {
    let client = LostReply(world.client());
    match rent(world, &client, "gpurun-lost").await {
        Ok(rented) => {
            return Err(Failure::new(format!(
                "the reply that was lost arrived: {}",
                rented.id
            )));
        }
        Err(failed) => ensure!(
            failed.to_string().contains("before the answer came"),
            "it failed otherwise: {failed}"
        ),
    }
    let deadline = Instant::now() + world.patience();
    loop {
        let listed = by_label(world.client().as_ref(), "gpurun-lost").await?;
        ensure!(listed.len() <= 1, "one call made {} boxes", listed.len());
        if let [found] = listed.as_slice() {
            until(
                world,
                world.client().as_ref(),
                &found.id,
                InstanceState::Running,
            )
            .await?;
            return Ok(());
        }
        ensure!(
            Instant::now() < deadline,
            "nothing with the label in {} s",
            world.patience().as_secs()
        );
        tokio::time::sleep(POLL).await;
    }
}

pub(super) async fn used_label_is_refused(world: &dyn World) -> Result<(), Failure> {
    let client = world.client();
    let first = rent(world, client.as_ref(), "gpurun-one").await?;
    let offer = offer(world, client.as_ref()).await?;
    match client.rent(&request(world, offer, "gpurun-one")).await {
        Ok(second) => {
            return Err(Failure::new(format!(
                "both {} and {} were made",
                first.id, second.id
            )));
        }
        Err(error) => {
            ensure!(
                error.kind == ErrorKind::InvalidRequest && !error.temporary,
                "refused as {} ({error})",
                error.kind
            );
            ensure!(
                error.message.contains(&first.id),
                "the box that has the label isn't named: {error}"
            );
        }
    }
    let listed = by_label(client.as_ref(), "gpurun-one").await?;
    ensure!(
        ids(&listed) == [first.id.as_str()],
        "the list shows {:?}",
        ids(&listed)
    );
    Ok(())
}

pub(super) async fn used_label_makes_a_second(world: &dyn World) -> Result<(), Failure> {
    let client = world.client();
    let first = rent(world, client.as_ref(), "gpurun-one").await?;
    let second = rent(world, client.as_ref(), "gpurun-one").await?;
    ensure!(first.id != second.id, "two boxes share the id {}", first.id);
    let listed = by_label(client.as_ref(), "gpurun-one").await?;
    ensure!(listed.len() == 2, "the list shows {:?}", ids(&listed));
    Ok(())
}

pub(super) async fn race_for_a_label(world: &dyn World) -> Result<(), Failure> {
    let (one, other) = (world.client(), world.client());
    let results = tokio::join!(
        rent(world, one.as_ref(), "gpurun-race"),
        rent(world, other.as_ref(), "gpurun-race")
    );
    let made = [results.0.is_ok(), results.1.is_ok()]
        .into_iter()
        .filter(|made| *made)
        .count();
    let listed = by_label(one.as_ref(), "gpurun-race").await?;
    ensure!(
        made == 1 && listed.len() == 1,
        "{made} were told yes, {} exist",
        listed.len()
    );
    Ok(())
}
