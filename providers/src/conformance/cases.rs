//! The cases, in the order in which a newcomer should make them pass.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::time::{Duration, Instant};

use gpurun_pricing::HourlyRate;

use super::harness::World;
use super::lost_reply::LostReply;
use crate::capabilities::{Capabilities, Labels};
use crate::error::{Error, ErrorKind};
use crate::instance::{Instance, InstanceState};
use crate::provider::{Provider, RentRequest};

pub(super) struct Case {
    pub(super) name: &'static str,
    pub(super) applies: fn(&Capabilities) -> bool,
    pub(super) run: for<'a> fn(&'a dyn World) -> Running<'a>,
}

type Running<'a> = Pin<Box<dyn Future<Output = Result<(), Failure>> + Send + 'a>>;

/// Why a case failed, in words.
#[derive(Debug)]
pub(super) struct Failure(String);

macro_rules! case {
    ($name:literal, $function:ident) => {
        case!($name, $function, |_| true)
    };
    ($name:literal, $function:ident, $applies:expr) => {
        Case {
            name: $name,
            applies: $applies,
            run: |world| Box::pin($function(world)),
        }
    };
}

macro_rules! ensure {
    ($condition:expr, $($why:tt)+) => {
        if !$condition { return Err(Failure(format!($($why)+))); }
    };
}

pub(super) const CASES: &[Case] = &[
    case!("a new account is empty", new_account_is_empty),
    case!(
        "offers are priced, dated, and cheapest first",
        offers_are_priced
    ),
    case!("a price limit is kept", price_limit_is_kept),
    case!(
        "what is rented runs and is listed",
        rented_runs_and_is_listed
    ),
    case!("another client sees the same", another_client_sees_the_same),
    case!(
        "a box whose reply was lost is found by its label",
        lost_reply_is_found
    ),
    case!(
        "a label in use is refused",
        used_label_is_refused,
        |can| can.labels == Labels::Unique
    ),
    case!(
        "a label in use makes a second box, and both are listed",
        used_label_makes_a_second,
        |can| can.labels == Labels::Repeatable
    ),
    case!(
        "of two who rent one label at once, one gets it",
        race_for_a_label,
        |can| can.labels == Labels::Unique
    ),
    case!("what is destroyed is gone", destroyed_is_gone),
    case!("destroying twice is success", destroying_twice_is_success),
    case!("an id is never used again", id_is_never_used_again),
    case!(
        "what is gone neither starts nor stops",
        gone_neither_starts_nor_stops,
        |can| can.can_stop()
    ),
    case!(
        "one box's end leaves the other alone",
        neighbours_are_left_alone
    ),
    case!(
        "a stopped box is kept, cheaper, and starts again",
        stopped_is_kept,
        |can| can.can_stop()
    ),
    case!(
        "stopping and starting twice is success",
        stopping_twice_is_success,
        |can| can.can_stop()
    ),
    case!(
        "a stopped box can be destroyed",
        stopped_can_be_destroyed,
        |can| can.can_stop()
    ),
    case!(
        "stop is refused where there is none",
        stop_is_refused,
        |can| !can.can_stop()
    ),
];

const POLL: Duration = Duration::from_millis(10);

async fn new_account_is_empty(world: &dyn World) -> Result<(), Failure> {
    let listed = world.client().list_mine().await?;
    ensure!(
        listed.is_empty(),
        "{} boxes in an account nobody used",
        listed.len()
    );
    Ok(())
}

async fn offers_are_priced(world: &dyn World) -> Result<(), Failure> {
    let client = world.client();
    let request = world.request();
    let offers = client.search(&request).await?;
    ensure!(!offers.is_empty(), "nothing offered for {}", request.gpu);
    let mut previous = HourlyRate::ZERO;
    for offer in &offers {
        ensure!(
            offer.provider == client.name(),
            "offer {} is said to be of {}",
            offer.id,
            offer.provider
        );
        let card = client.rate_card(offer).await?;
        ensure!(
            !card.source.is_empty(),
            "offer {} has a price without a source",
            offer.id
        );
        ensure!(
            card.stop == client.capabilities().stop,
            "the rate card and the capabilities differ on stop"
        );
        let rate = card.running_rate(request.disk);
        ensure!(rate > HourlyRate::ZERO, "offer {} costs nothing", offer.id);
        ensure!(
            rate >= previous,
            "offer {} at {rate} comes after one at {previous}",
            offer.id
        );
        previous = rate;
    }
    Ok(())
}

async fn price_limit_is_kept(world: &dyn World) -> Result<(), Failure> {
    let mut request = world.request();
    request.max_price = Some(HourlyRate::ZERO);
    let offers = world.client().search(&request).await?;
    ensure!(
        offers.is_empty(),
        "{} offers that cost nothing",
        offers.len()
    );
    Ok(())
}

async fn rented_runs_and_is_listed(world: &dyn World) -> Result<(), Failure> {
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

async fn another_client_sees_the_same(world: &dyn World) -> Result<(), Failure> {
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

async fn lost_reply_is_found(world: &dyn World) -> Result<(), Failure> {
    let client = LostReply(world.client());
    match rent(world, &client, "gpurun-lost").await {
        Ok(rented) => {
            return Err(Failure(format!(
                "the reply that was lost arrived: {}",
                rented.id
            )));
        }
        Err(Failure(why)) => ensure!(
            why.contains("before the answer came"),
            "it failed otherwise: {why}"
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

async fn used_label_is_refused(world: &dyn World) -> Result<(), Failure> {
    let client = world.client();
    let first = rent(world, client.as_ref(), "gpurun-one").await?;
    let offer = offer(world, client.as_ref()).await?;
    match client.rent(&request(world, offer, "gpurun-one")).await {
        Ok(second) => {
            return Err(Failure(format!(
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

async fn used_label_makes_a_second(world: &dyn World) -> Result<(), Failure> {
    let client = world.client();
    let first = rent(world, client.as_ref(), "gpurun-one").await?;
    let second = rent(world, client.as_ref(), "gpurun-one").await?;
    ensure!(first.id != second.id, "two boxes share the id {}", first.id);
    let listed = by_label(client.as_ref(), "gpurun-one").await?;
    ensure!(listed.len() == 2, "the list shows {:?}", ids(&listed));
    Ok(())
}

async fn race_for_a_label(world: &dyn World) -> Result<(), Failure> {
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

async fn destroyed_is_gone(world: &dyn World) -> Result<(), Failure> {
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

async fn destroying_twice_is_success(world: &dyn World) -> Result<(), Failure> {
    let client = world.client();
    let rented = rent(world, client.as_ref(), "gpurun-one").await?;
    client.destroy(&rented.id).await?;
    client.destroy(&rented.id).await?;
    until_gone(world, client.as_ref(), &rented.id).await?;
    client.destroy(&rented.id).await?;
    Ok(())
}

async fn id_is_never_used_again(world: &dyn World) -> Result<(), Failure> {
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

async fn gone_neither_starts_nor_stops(world: &dyn World) -> Result<(), Failure> {
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

async fn neighbours_are_left_alone(world: &dyn World) -> Result<(), Failure> {
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

async fn stopped_is_kept(world: &dyn World) -> Result<(), Failure> {
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

async fn stopping_twice_is_success(world: &dyn World) -> Result<(), Failure> {
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

async fn stopped_can_be_destroyed(world: &dyn World) -> Result<(), Failure> {
    let client = world.client();
    let rented = rent(world, client.as_ref(), "gpurun-one").await?;
    until(world, client.as_ref(), &rented.id, InstanceState::Running).await?;
    client.stop(&rented.id).await?;
    until(world, client.as_ref(), &rented.id, InstanceState::Stopped).await?;
    client.destroy(&rented.id).await?;
    until_gone(world, client.as_ref(), &rented.id).await
}

async fn stop_is_refused(world: &dyn World) -> Result<(), Failure> {
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

async fn offer(world: &dyn World, client: &dyn Provider) -> Result<gpurun_pricing::Offer, Failure> {
    let offers = client.search(&world.request()).await?;
    offers
        .into_iter()
        .next()
        .ok_or_else(|| Failure("nothing is offered".to_owned()))
}

fn request(world: &dyn World, offer: gpurun_pricing::Offer, label: &str) -> RentRequest {
    RentRequest::new(label, offer, world.request().disk)
}

async fn rent(world: &dyn World, client: &dyn Provider, label: &str) -> Result<Instance, Failure> {
    let offer = offer(world, client).await?;
    Ok(client.rent(&request(world, offer, label)).await?)
}

async fn by_label(client: &dyn Provider, label: &str) -> Result<Vec<Instance>, Failure> {
    let listed = client.list_mine().await?;
    Ok(listed
        .into_iter()
        .filter(|instance| instance.label.as_deref() == Some(label))
        .collect())
}

fn ids(instances: &[Instance]) -> Vec<&str> {
    instances
        .iter()
        .map(|instance| instance.id.as_str())
        .collect()
}

/// Looks until the box is in `state`.
async fn until(
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
            .ok_or_else(|| Failure(format!("{id} is gone, and was to be {state}")))?;
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

async fn until_gone(world: &dyn World, client: &dyn Provider, id: &str) -> Result<(), Failure> {
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

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self(error.to_string())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
