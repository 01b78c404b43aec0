//! Acting: one call for each action, every argument already in it. Each is idempotent: a pass that
//! was killed anywhere is repeated by the next one.

mod agent;
mod cloud;
mod fetch;
mod gpus;
mod send;
mod setup;
mod volume;

pub(crate) use volume::{create_volume, delete_volume};

use crate::shell::Shell;
use gpurun_lifecycle::{Action, ActionResult, RunRecord, Target};

/// Carries out one action.
pub(crate) async fn execute(shell: &Shell, run: &RunRecord, action: &Action) -> ActionResult {
    match action {
        Action::Rent {
            target,
            offer,
            disk,
            image,
            price_limit,
            volume,
        } => {
            let order = cloud::Order {
                offer,
                disk: *disk,
                image: image.clone(),
                price_limit: *price_limit,
                volume: volume.clone(),
            };
            cloud::rent(shell, run, target, order).await
        }
        Action::Adopt { target } => cloud::adopt(shell, run, target).await,
        Action::Authorize { target } => cloud::authorize(shell, run, target).await,
        Action::Close { .. } => {
            if let Err(error) = shell.connections.keys(&run.id).remove() {
                tracing::warn!(%error, run = run.id, "its SSH key stays in the state directory");
            }
            ActionResult::done()
        }
        Action::StartInstance { target } => cloud::start(shell, target).await,
        Action::StopInstance { target } => cloud::stop(shell, target).await,
        Action::DestroyInstance { target, .. } => cloud::destroy(shell, target).await,
        Action::Install { target, spec } => setup::install(shell, run, target, spec).await,
        Action::Prove { target, spec } => setup::prove(shell, run, target, spec).await,
        Action::Stage { target, spec } => setup::stage(shell, run, target, spec).await,
        Action::Restore { target, files } => setup::restore(shell, run, target, files).await,
        Action::Launch {
            target,
            spec,
            checkpoints,
            attempt,
            resume,
        } => {
            let attempt = agent::Attempt {
                number: *attempt,
                resume: *resume,
            };
            agent::launch(shell, run, target, spec, checkpoints, attempt).await
        }
        Action::Fetch { target } => agent::fetch(shell, run, target).await,
        Action::PushNow { target } => agent::push(shell, run, target).await,
        Action::EndTraining { target, why, .. } => agent::end(shell, run, target, why).await,
    }
}

/// Destroys a box that no run answers for.
pub(crate) async fn destroy_box(shell: &Shell, target: &Target) -> ActionResult {
    cloud::destroy(shell, target).await
}

fn failed(temporary: bool, message: impl std::fmt::Display) -> ActionResult {
    ActionResult::Failed {
        temporary,
        message: message.to_string(),
    }
}
