//! From the rent to the destroy.

use super::case::{Failure, ensure};
use super::harness::World;
use super::steps::{by_label, ids, rent, until, until_gone};
use crate::instance::InstanceState;

pub(super) async fn rented_runs_and_is_listed(world: &dyn World) -> Result<(), Failure> {
    let client = world.client();
    let rented = rent(world, client.as_ref(), "gpurun-one").await?;
    ensure!(
        rented.label.as_deref() == Some("gpurun-one"),
        "the label became {:?}",
        rented.label
    );
    let running = until(world, client.as_ref(), &rented.id, InstanceState::Running).await?;
    ensure!(running.access.is_some(), "it runs, and there is no way in");
    ensure!(running.created_at.is_some(), "nobody says when it was made");
    let asked = world.request();
    ensure!(
        running.disk.is_none_or(|disk| disk >= asked.disk),
        "{:?} of disk for {} asked",
        running.disk,
        asked.disk
    );
    ensure!(
        running.gpus.is_none_or(|gpus| gpus == asked.gpu.count()),
        "{:?} GPUs for {} asked",
        running.gpus,
        asked.gpu
    );
    let listed = by_label(client.as_ref(), "gpurun-one").await?;
    ensure!(
        ids(&listed) == [running.id.as_str()],
        "the list shows {:?}",
        ids(&listed)
    );
    Ok(())
}

pub(super) async fn another_client_sees_the_same(world: &dyn World) -> Result<(), Failure> {
    let rented = rent(world, world.client().as_ref(), "gpurun-one").await?;
    let other = world.client();
    ensure!(
        other.describe(&rented.id).await?.is_some(),
        "another client can't describe it"
    );
    let listed = by_label(other.as_ref(), "gpurun-one").await?;
    ensure!(
        ids(&listed) == [rented.id.as_str()],
        "another client lists {:?}",
        ids(&listed)
    );
    Ok(())
}

pub(super) async fn destroyed_is_gone(world: &dyn World) -> Result<(), Failure> {
    let client = world.client();
    let rented = rent(world, client.as_ref(), "gpurun-one").await?;
    until(world, client.as_ref(), &rented.id, InstanceState::Running).await?;
    client.destroy(&rented.id).await?;
    until_gone(world, client.as_ref(), &rented.id).await?;
    let listed = client.list_mine().await?;
    ensure!(
        listed.iter().all(|left| left.id != rented.id),
        "it can't be described, and is still listed"
    );
    Ok(())
}

pub(super) async fn destroying_twice_is_success(world: &dyn World) -> Result<(), Failure> {
    let client = world.client();
    let rented = rent(world, client.as_ref(), "gpurun-one").await?;
    client.destroy(&rented.id).await?;
    client.destroy(&rented.id).await?;
    until_gone(world, client.as_ref(), &rented.id).await?;
    client.destroy(&rented.id).await?;
    Ok(())
}

pub(super) async fn id_is_never_used_again(world: &dyn World) -> Result<(), Failure> {
    let client = world.client();
    let first = rent(world, client.as_ref(), "gpurun-one").await?;
    client.destroy(&first.id).await?;
    until_gone(world, client.as_ref(), &first.id).await?;
    let second = rent(world, client.as_ref(), "gpurun-one").await?;
    ensure!(
        first.id != second.id,
        "the id {} came back with another box",
        first.id
    );
    ensure!(
        client.describe(&first.id).await?.is_none(),
        "the first box came back"
    );
    Ok(())
}

pub(super) async fn neighbours_are_left_alone(world: &dyn World) -> Result<(), Failure> {
    let client = world.client();
    let ends = rent(world, client.as_ref(), "gpurun-ends").await?;
    let stays = rent(world, client.as_ref(), "gpurun-stays").await?;
    until(world, client.as_ref(), &stays.id, InstanceState::Running).await?;
    client.destroy(&ends.id).await?;
    until_gone(world, client.as_ref(), &ends.id).await?;
    let left = client.describe(&stays.id).await?.map(|left| left.state);
    ensure!(
        left == Some(InstanceState::Running),
        "the neighbour is {left:?}"
    );
    Ok(())
}
