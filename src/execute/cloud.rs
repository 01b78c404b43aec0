//! The provider's own verbs, and what a failed call means.

use super::failed;
use crate::shell::Shell;
use gpurun_lifecycle::{ActionResult, RunRecord, Target};
use gpurun_pricing::{Gigabytes, Offer};
use gpurun_providers::{Error, ErrorKind, RentRequest};

pub(super) async fn rent(
    shell: &Shell,
    run: &RunRecord,
    target: &Target,
    offer: &Offer,
    disk: Gigabytes,
    image: Option<String>,
) -> ActionResult {
    let provider = match shell.provider(&target.provider) {
        Ok(provider) => provider,
        Err(failure) => return failed(false, failure.report),
    };
    // Made before the box that knows it.
    let key = match shell.connections.keys(&run.id).public_line() {
        Ok(key) => key,
        Err(error) => return failed(error.temporary, error),
    };
    let request = RentRequest {
        image,
        ssh_public_key: Some(key),
        ..RentRequest::new(target.label.clone(), offer.clone(), disk)
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

/// A create that failed may have made a box: only where the provider refused it is that ruled out.
fn rent_failed(error: &Error) -> ActionResult {
    match error.kind {
        // This offer won't become a box; the next one may.
        ErrorKind::NoCapacity | ErrorKind::Gone | ErrorKind::InvalidRequest => failed(false, error),
        ErrorKind::Credentials | ErrorKind::Credit => failed(error.temporary, error),
        ErrorKind::RateLimited | ErrorKind::Unavailable | ErrorKind::Unknown => {
            ActionResult::Unclear {
                message: error.to_string(),
            }
        }
    }
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
