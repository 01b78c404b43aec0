//! Stop and start, or their refusal.

use super::case::{Failure, ensure};
use super::harness::World;
use super::steps::{by_label, rent, until, until_gone};
use crate::error::ErrorKind;
use crate::instance::InstanceState;

pub(super) async fn gone_neither_starts_nor_stops(world: &dyn World) -> Result<(), Failure> {
    let client = world.client();
    let rented = rent(world, client.as_ref(), "gpurun-one").await?;
    client.destroy(&rented.id).await?;
    until_gone(world, client.as_ref(), &rented.id).await?;
    for (verb, result) in [
        ("start", client.start(&rented.id).await),
        ("stop", client.stop(&rented.id).await),
    ] {
        let kind = result.err().map(|error| error.kind);
        ensure!(
            kind == Some(ErrorKind::Gone),
            "{verb} of what is gone says {kind:?}"
        );
    }
    ensure!(
        client.describe(&rented.id).await?.is_none(),
        "a refused start brought it back"
    );
    Ok(())
}

pub(super) async fn stopped_is_kept(world: &dyn World) -> Result<(), Failure> {
    let client = world.client();
    let rented = rent(world, client.as_ref(), "gpurun-one").await?;
    let running = until(world, client.as_ref(), &rented.id, InstanceState::Running).await?;
    client.stop(&rented.id).await?;
    let stopped = until(world, client.as_ref(), &rented.id, InstanceState::Stopped).await?;
    ensure!(
        stopped.access.is_none(),
        "it is stopped, and there is a way in"
    );
    ensure!(
        stopped.label == running.label && stopped.disk == running.disk,
        "it lost its label or its disk"
    );
    if let (Some(before), Some(after)) = (running.price, stopped.price) {
        ensure!(after < before, "stopped costs {after}, running {before}");
    }
    let listed = by_label(client.as_ref(), "gpurun-one").await?;
    ensure!(
        listed.len() == 1,
        "a stopped box is listed {} times",
        listed.len()
    );
    client.start(&rented.id).await?;
    let again = until(world, client.as_ref(), &rented.id, InstanceState::Running).await?;
    ensure!(
        again.access == running.access && again.gpus == running.gpus,
        "it came back as another: {again:?}"
    );
    Ok(())
}

pub(super) async fn stopping_twice_is_success(world: &dyn World) -> Result<(), Failure> {
    let client = world.client();
    let rented = rent(world, client.as_ref(), "gpurun-one").await?;
    until(world, client.as_ref(), &rented.id, InstanceState::Running).await?;
    client.start(&rented.id).await?;
    client.stop(&rented.id).await?;
    let first = until(world, client.as_ref(), &rented.id, InstanceState::Stopped).await?;
    client.stop(&rented.id).await?;
    let second = until(world, client.as_ref(), &rented.id, InstanceState::Stopped).await?;
    ensure!(
        first.state_since == second.state_since,
        "the second stop moved the time of the first"
    );
    Ok(())
}

pub(super) async fn stopped_can_be_destroyed(world: &dyn World) -> Result<(), Failure> {
    let client = world.client();
    let rented = rent(world, client.as_ref(), "gpurun-one").await?;
    until(world, client.as_ref(), &rented.id, InstanceState::Running).await?;
    client.stop(&rented.id).await?;
    until(world, client.as_ref(), &rented.id, InstanceState::Stopped).await?;
    client.destroy(&rented.id).await?;
    until_gone(world, client.as_ref(), &rented.id).await
}

pub(super) async fn stop_is_refused(world: &dyn World) -> Result<(), Failure> {
    let client = world.client();
    let rented = rent(world, client.as_ref(), "gpurun-one").await?;
    until(world, client.as_ref(), &rented.id, InstanceState::Running).await?;
    let kind = client.stop(&rented.id).await.err().map(|error| error.kind);
    ensure!(
        kind == Some(ErrorKind::InvalidRequest),
        "stop says {kind:?}"
    );
    let state = client.describe(&rented.id).await?.map(|left| left.state);
    ensure!(
        state == Some(InstanceState::Running),
        "after the refused stop it is {state:?}"
    );
    Ok(())
}
