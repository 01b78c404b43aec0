//! The provider's own verbs, and what a failed call means.

use super::failed;
use crate::shell::Shell;
use gpurun_lifecycle::{ActionResult, RunRecord, Target, VolumeSpec};
use gpurun_pricing::{Gigabytes, HourlyRate, Offer};
use gpurun_providers::{Error, ErrorKind, Provider, RentRequest, VolumeMount};

/// What is rented.
pub(super) struct Order<'a> {
    pub(super) offer: &'a Offer,
    pub(super) disk: Gigabytes,
    pub(super) image: Option<String>,
    pub(super) price_limit: Option<HourlyRate>,
    pub(super) volume: Option<VolumeSpec>,
}

pub(super) async fn rent(
    shell: &Shell,
    run: &RunRecord,
    target: &Target,
    order: Order<'_>,
) -> ActionResult {
    let provider = match shell.provider(&target.provider) {
        Ok(provider) => provider,
        Err(failure) => return failed(false, failure.report),
    };
    if let Err(result) = still_agreed(provider, &order).await {
        return result;
    }
    // Made before the box that knows it.
    let key = match shell.connections.keys(&run.id).public_line() {
        Ok(key) => key,
        Err(error) => return failed(error.temporary, error),
    };
    let request = RentRequest {
        image: order.image,
        ssh_public_key: Some(key),
        volume: order.volume.map(|volume| VolumeMount {
            id: volume.id,
            path: volume.path,
        }),
        ..RentRequest::new(target.label.clone(), order.offer.clone(), order.disk)
    };
    match provider.rent(&request).await {
        Ok(instance) => ActionResult::Done {
            instance: Some(instance.id),
            training: None,
            checkpoints: None,
        },
        Err(error) => rent_failed(&error),
    }
}

/// The box is in the ledger by this alone. Its `rent` may have been cut off before the run's key was in it; where it
/// isn't now either, the box shows itself locked.
pub(super) async fn adopt(shell: &Shell, run: &RunRecord, target: &Target) -> ActionResult {
    let let_in = authorize(shell, run, target).await;
    tracing::debug!(?let_in, run = run.id, "the key of the run");
    ActionResult::done()
}

pub(super) async fn authorize(shell: &Shell, run: &RunRecord, target: &Target) -> ActionResult {
    let (provider, id) = match (shell.provider(&target.provider), &target.instance) {
        (Ok(provider), Some(id)) => (provider, id),
        (Err(failure), _) => return failed(false, failure.report),
        (_, None) => return no_instance(),
    };
    let key = match shell.connections.keys(&run.id).public_line() {
        Ok(key) => key,
        Err(error) => return failed(error.temporary, error),
    };
    match provider.authorize(id, &key).await {
        Ok(true) => ActionResult::done(),
        Ok(false) => failed(
            true,
            "this provider brings a key only when it rents the box",
        ),
        Err(error) => failed(true, error),
    }
}

/// The price now against the most that was agreed to: minutes may lie between the offer and the person's answer.
async fn still_agreed(provider: &dyn Provider, order: &Order<'_>) -> Result<(), ActionResult> {
    let Some(limit) = order.price_limit else {
        return Ok(());
    };
    let card = provider.rate_card(order.offer).await;
    let card =
        card.map_err(|error| failed(error.temporary && !is_about_the_offer(&error), error))?;
    let (seen, now) = (
        order.offer.card.running_rate(order.disk),
        card.running_rate(order.disk),
    );
    if now <= limit {
        return Ok(());
    }
    Err(failed(
        false,
        format!(
            "it costs {now} now, {seen} when it was seen, and {limit} is the most that was agreed to; --accept-price takes it"
        ),
    ))
}

/// A create that failed may have made a box: only where the provider refused it is that ruled out.
fn rent_failed(error: &Error) -> ActionResult {
    match error.kind {
        _ if is_about_the_offer(error) => failed(false, error),
        ErrorKind::Credentials | ErrorKind::Credit => failed(error.temporary, error),
        _ => ActionResult::Unclear {
            message: error.to_string(),
        },
    }
}

/// This offer won't become a box; the next one may.
fn is_about_the_offer(error: &Error) -> bool {
    matches!(
        error.kind,
        ErrorKind::NoCapacity | ErrorKind::Gone | ErrorKind::InvalidRequest
    )
}

pub(super) async fn start(shell: &Shell, target: &Target) -> ActionResult {
    match (shell.provider(&target.provider), &target.instance) {
        (Ok(provider), Some(id)) => told(provider.start(id).await),
        (Err(failure), _) => failed(false, failure.report),
        (_, None) => no_instance(),
    }
}

pub(super) async fn stop(shell: &Shell, target: &Target) -> ActionResult {
    match (shell.provider(&target.provider), &target.instance) {
        (Ok(provider), Some(id)) => told(provider.stop(id).await),
        (Err(failure), _) => failed(false, failure.report),
        (_, None) => no_instance(),
    }
}

pub(super) async fn destroy(shell: &Shell, target: &Target) -> ActionResult {
    match (shell.provider(&target.provider), &target.instance) {
        (Ok(provider), Some(id)) => told(provider.destroy(id).await),
        (Err(failure), _) => failed(false, failure.report),
        (_, None) => no_instance(),
    }
}

/// What a request about an existing box came to. Success means accepted: the next look proves it.
fn told(reply: Result<(), Error>) -> ActionResult {
    match reply {
        Ok(()) => ActionResult::done(),
        Err(error) if matches!(error.kind, ErrorKind::Unavailable | ErrorKind::Unknown) => {
            ActionResult::Unclear {
                message: error.to_string(),
            }
        }
        Err(error) => failed(error.temporary, error),
    }
}

fn no_instance() -> ActionResult {
    failed(false, "the plan names no box")
}
