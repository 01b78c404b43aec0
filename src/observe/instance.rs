//! What the providers say.

use crate::remote::WayIn;
use crate::shell::Shell;
use chrono::Utc;
use gpurun_lifecycle::{InstanceView, Phase, RunRecord, Sighting};
use gpurun_providers::{Instance, InstanceState, Provider, Result};

/// The run's box as its provider shows it, and the way in while it runs.
pub(super) async fn look(
    shell: &Shell,
    run: &RunRecord,
) -> (Sighting<InstanceView>, Option<WayIn>) {
    let unknown = |why: String| {
        let since = None;
        (Sighting::Unknown { why, since }, None)
    };
    let provider = match shell.provider(&run.spec.provider) {
        Ok(provider) => provider,
        Err(failure) => return unknown(failure.report.to_string()),
    };
    match find(provider, run).await {
        Ok(boxes) => {
            let way_in = match boxes.as_slice() {
                [only] => way_into(run, only),
                _ => None,
            };
            let mut value = view(&boxes, run);
            if let (InstanceView::Running { id, .. }, [only], true) =
                (&value, boxes.as_slice(), is_new(run))
            {
                let unusable = match &way_in {
                    Some(way) => usable(shell, way, id).await,
                    None => None,
                };
                value = too_dear(run, only).or(unusable).unwrap_or(value);
            }
            let at = Utc::now();
            (Sighting::Seen { value, at }, way_in)
        }
        Err(error) => unknown(error.to_string()),
    }
}

/// Nothing was ever done on its box since that came up.
fn is_new(run: &RunRecord) -> bool {
    run.phase < Phase::Installed
}

/// What a box is that its provider calls running and that doesn't let us in: to us it still comes up, and its time for
/// that runs on. `None` for one that does.
async fn usable(shell: &Shell, way: &WayIn, id: &str) -> Option<InstanceView> {
    let error = shell.connections.connect(way).await.err()?;
    tracing::debug!(%error, "not yet");
    let id = id.to_owned();
    Some(if error.locked {
        InstanceView::Locked { id }
    } else if error.temporary {
        InstanceView::Creating { id, since: None }
    } else {
        InstanceView::Broken {
            id,
            since: None,
            why: error.message,
        }
    })
}

/// What was rented costs more than what was offered, and than was agreed to: nothing more is spent on it.
fn too_dear(run: &RunRecord, only: &Instance) -> Option<InstanceView> {
    let (price, limit) = (only.price?, run.spec.price_limit?);
    (price > limit).then(|| InstanceView::Broken {
        id: only.id.clone(),
        since: None,
        why: format!("it costs {price}, and {limit} is the most that was agreed to"),
    })
}

/// Every box with the run's label or id, oldest first. Empty only when both were looked for in vain.
async fn find(provider: &dyn Provider, run: &RunRecord) -> Result<Vec<Instance>> {
    let known = run.instance.as_ref().map(|instance| instance.id.as_str());
    let mut found: Vec<Instance> = provider
        .list_mine()
        .await?
        .into_iter()
        .filter(|one| {
            one.label.as_deref() == Some(run.label.as_str()) || Some(one.id.as_str()) == known
        })
        .collect();
    if let (true, Some(id)) = (found.is_empty(), known) {
        found.extend(provider.describe(id).await?);
    }
    found.sort_by_key(|one| one.created_at);
    Ok(found)
}

fn view(boxes: &[Instance], run: &RunRecord) -> InstanceView {
    let only = match boxes {
        [] => return InstanceView::Absent,
        [only] => only,
        several => {
            let ids = several.iter().map(|one| one.id.clone()).collect();
            return InstanceView::Several { ids };
        }
    };
    let (id, since) = (only.id.clone(), only.state_since);
    match only.state {
        InstanceState::Creating => InstanceView::Creating { id, since },
        InstanceState::Running => InstanceView::Running {
            id,
            since,
            zero_gpus: only.gpus == Some(0) && wants_gpus(run),
            price: only.price,
        },
        InstanceState::Stopping => InstanceView::Stopping { id, since },
        InstanceState::Stopped => InstanceView::Stopped { id, since },
        InstanceState::Destroying => InstanceView::Destroying { id, since },
        InstanceState::Broken => InstanceView::Broken {
            id,
            since,
            why: only
                .message
                .clone()
                .unwrap_or_else(|| "the provider doesn't say why".to_owned()),
        },
    }
}

fn wants_gpus(run: &RunRecord) -> bool {
    run.spec
        .offers
        .first()
        .is_some_and(|offer| offer.gpu.count() > 0)
}

/// The way into the run's box, while it runs.
pub(crate) async fn way_in(
    provider: &dyn Provider,
    run: &RunRecord,
    id: &str,
) -> Result<Option<WayIn>> {
    let found = provider.describe(id).await?;
    Ok(found
        .filter(|one| one.state == InstanceState::Running)
        .and_then(|one| way_into(run, &one)))
}

fn way_into(run: &RunRecord, one: &Instance) -> Option<WayIn> {
    one.access.clone().map(|access| WayIn {
        run: run.id.clone(),
        instance: one.id.clone(),
        access,
    })
}
