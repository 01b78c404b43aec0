//! What must hold when the provider is in trouble.

use super::case::{Failure, ensure};
use super::harness::{Trouble, World};
use super::steps::{by_label, ids, offer, rent, request, until};
use crate::error::{ErrorKind, Result as Told};
use crate::instance::{Instance, InstanceState};
use crate::provider::Provider;

pub(super) async fn rent_without_an_answer(world: &dyn World) -> Result<(), Failure> {
    for (trouble, label) in [
        (Trouble::RentAnswerLost, "gpurun-lost"),
        (Trouble::RentAnswersError, "gpurun-error"),
    ] {
        let client = world.client();
        let offer = offer(world, client.as_ref()).await?;
        begin(world, trouble)?;
        let told = client.rent(&request(world, offer, label)).await;
        world.calm();
        let kind = told.err().map(|error| error.kind);
        ensure!(
            kind.is_some_and(ErrorKind::may_have_acted),
            "{trouble:?}: it was done, and rent says {kind:?}"
        );
        let listed = by_label(client.as_ref(), label).await?;
        ensure!(
            listed.len() == 1,
            "{trouble:?}: one rent made {:?}",
            ids(&listed)
        );
    }
    Ok(())
}

pub(super) async fn taken_offer(world: &dyn World) -> Result<(), Failure> {
    makes_nothing(world, Trouble::OfferTaken, ErrorKind::NoCapacity).await
}

pub(super) async fn rent_too_soon(world: &dyn World) -> Result<(), Failure> {
    makes_nothing(world, Trouble::RentTooSoon, ErrorKind::RateLimited).await
}

async fn makes_nothing(
    world: &dyn World,
    trouble: Trouble,
    wanted: ErrorKind,
) -> Result<(), Failure> {
    let client = world.client();
    let offer = offer(world, client.as_ref()).await?;
    begin(world, trouble)?;
    let told = client.rent(&request(world, offer, "gpurun-one")).await;
    world.calm();
    let kind = told.err().map(|error| error.kind);
    ensure!(kind == Some(wanted), "rent says {kind:?}");
    let listed = client.list_mine().await?;
    ensure!(listed.is_empty(), "it made {:?} all the same", ids(&listed));
    Ok(())
}

pub(super) async fn too_many_requests(world: &dyn World) -> Result<(), Failure> {
    let client = world.client();
    let rented = rent(world, client.as_ref(), "gpurun-one").await?;
    for form in 0..3 {
        begin(world, Trouble::LookTooSoon(form))?;
        let seen = client.describe(&rented.id).await;
        world.calm();
        // Waited for, or told: never taken for gone.
        let is_held = match &seen {
            Ok(seen) => seen.is_some(),
            Err(error) => error.kind == ErrorKind::RateLimited && error.temporary,
        };
        ensure!(is_held, "form {form}: it says {seen:?}");
    }
    Ok(())
}

pub(super) async fn garbled_answers(world: &dyn World) -> Result<(), Failure> {
    let client = world.client();
    let rented = rent(world, client.as_ref(), "gpurun-one").await?;
    for trouble in [
        Trouble::EmptyAnswers,
        Trouble::WebPages,
        Trouble::TornAnswers,
    ] {
        begin(world, trouble)?;
        let seen = client.describe(&rented.id).await;
        let listed = client.list_mine().await;
        world.calm();
        proves_nothing(trouble, &seen, &listed)?;
    }
    still_there(client.as_ref(), &rented).await
}

pub(super) async fn refused_key(world: &dyn World) -> Result<(), Failure> {
    let client = world.client();
    let rented = rent(world, client.as_ref(), "gpurun-one").await?;
    let trouble = Trouble::KeyRefused;
    begin(world, trouble)?;
    let seen = client.describe(&rented.id).await;
    let listed = client.list_mine().await;
    let destroyed = client.destroy(&rented.id).await;
    let account = client.account().await;
    world.calm();
    proves_nothing(trouble, &seen, &listed)?;
    for (call, kind) in [
        ("describe", seen.err().map(|error| error.kind)),
        ("list_mine", listed.err().map(|error| error.kind)),
        ("destroy", destroyed.err().map(|error| error.kind)),
        ("account", account.err().map(|error| error.kind)),
    ] {
        ensure!(kind == Some(ErrorKind::Credentials), "{call} says {kind:?}");
    }
    still_there(client.as_ref(), &rented).await
}

pub(super) async fn refused_destroy(world: &dyn World) -> Result<(), Failure> {
    let client = world.client();
    let rented = rent(world, client.as_ref(), "gpurun-one").await?;
    begin(world, Trouble::DestroyRefused)?;
    let told = client.destroy(&rented.id).await;
    world.calm();
    ensure!(told.is_err(), "it was refused, and destroy says yes");
    still_there(client.as_ref(), &rented).await?;
    client.destroy(&rented.id).await?;
    Ok(())
}

pub(super) async fn ignored_destroy(world: &dyn World) -> Result<(), Failure> {
    let client = world.client();
    let rented = rent(world, client.as_ref(), "gpurun-one").await?;
    begin(world, Trouble::DestroyIgnored)?;
    // What it says counts for nothing: only the look does.
    let _ = client.destroy(&rented.id).await;
    world.calm();
    still_there(client.as_ref(), &rented).await
}

pub(super) async fn start_without_gpus(world: &dyn World) -> Result<(), Failure> {
    let client = world.client();
    let rented = rent(world, client.as_ref(), "gpurun-one").await?;
    until(world, client.as_ref(), &rented.id, InstanceState::Running).await?;
    client.stop(&rented.id).await?;
    until(world, client.as_ref(), &rented.id, InstanceState::Stopped).await?;
    begin(world, Trouble::StartWithoutGpus)?;
    client.start(&rented.id).await?;
    let running = until(world, client.as_ref(), &rented.id, InstanceState::Running).await?;
    world.calm();
    ensure!(
        running.gpus == Some(0),
        "it came back without GPUs, and is said to have {:?}",
        running.gpus
    );
    Ok(())
}

fn begin(world: &dyn World, trouble: Trouble) -> Result<(), Failure> {
    match world.trouble(trouble) {
        true => Ok(()),
        false => Err(Failure::NotHere),
    }
}

fn proves_nothing(
    trouble: Trouble,
    seen: &Told<Option<Instance>>,
    listed: &Told<Vec<Instance>>,
) -> Result<(), Failure> {
    ensure!(seen.is_err(), "{trouble:?}: the look is taken for {seen:?}");
    ensure!(
        listed.is_err(),
        "{trouble:?}: the list is taken for {listed:?}"
    );
    Ok(())
}

/// As the client sees it that went through the trouble.
async fn still_there(client: &dyn Provider, rented: &Instance) -> Result<(), Failure> {
    ensure!(
        client.describe(&rented.id).await?.is_some(),
        "{} is called gone",
        rented.id
    );
    let listed = client.list_mine().await?;
    ensure!(
        ids(&listed) == [rented.id.as_str()],
        "the list shows {:?}",
        ids(&listed)
    );
    Ok(())
}
