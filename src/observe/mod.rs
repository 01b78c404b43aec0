//! Looking: the provider's list, then the box's own report. Nothing here changes anything.

mod checkpoints;
mod instance;
mod market;
mod training;

pub(crate) use instance::way_in;
pub(crate) use market::{AccountState, accounts, boxes, search_all, volume, volume_rate, volumes};
use training::Told;
pub(crate) use training::never_launched;

use crate::remote::WayIn;
use crate::shell::Shell;
use chrono::Utc;
use gpurun_lifecycle::{
    CheckpointView, InstanceView, Observation, RunRecord, Sighting, TrainingView,
};
use gpurun_protocol::manifest::Manifest;
use gpurun_protocol::report::BoxReport;
use gpurun_providers::Access;

/// One look at one run, and the report it was made from, where the box gave one.
pub(crate) struct Look {
    pub(crate) observation: Observation,
    pub(crate) report: Option<BoxReport>,
}

/// Looks at the run's box and at what happens on it.
pub(crate) async fn observe(shell: &Shell, run: &RunRecord) -> Look {
    let (instance, way_in) = instance::look(shell, run).await;
    let report = match (&instance, way_in) {
        (
            Sighting::Seen {
                value: InstanceView::Running { .. },
                ..
            },
            Some(way_in),
        ) => training::report(shell, run, &way_in).await,
        (Sighting::Seen { value, .. }, _) => Err(format!("the box is {}", word(value))),
        (Sighting::Unknown { why, .. }, _) => Err(why.clone()),
    };
    let now = Utc::now();
    let (training, checkpoints, report) = match report {
        Ok(None) => (
            seen(training::never_launched(), now),
            seen(CheckpointView::default(), now),
            None,
        ),
        Ok(Some(Told { report, to_fetch })) => (
            seen(training::judge(run, &report), now),
            seen(
                checkpoints::view(&run.spec.checkpoints, &report, to_fetch),
                now,
            ),
            Some(report),
        ),
        Err(why) => (
            unknown_training(run, &why),
            unknown_checkpoints(run, &why),
            None,
        ),
    };
    Look {
        observation: Observation {
            now,
            instance,
            training,
            checkpoints,
        },
        report,
    }
}

/// What a box says of its training and checkpoints, right after it was told something.
pub(crate) async fn views(
    shell: &Shell,
    run: &RunRecord,
    way_in: &WayIn,
) -> Option<(TrainingView, CheckpointView)> {
    let Told { report, to_fetch } = training::report(shell, run, way_in).await.ok()??;
    let checkpoints = checkpoints::view(&run.spec.checkpoints, &report, to_fetch);
    Some((training::judge(run, &report), checkpoints))
}

/// The manifest of what a box holds ready for us; `None` where it reaches the destination itself, or holds nothing.
pub(crate) async fn outbox(shell: &Shell, way_in: &WayIn) -> Option<Manifest> {
    match way_in.access {
        Access::Local { .. } => None,
        Access::Ssh(_) => training::as_told(shell, way_in).await.ok()?.manifest,
    }
}

fn seen<T>(value: T, at: chrono::DateTime<Utc>) -> Sighting<T> {
    Sighting::Seen { value, at }
}

fn unknown_training(run: &RunRecord, why: &str) -> Sighting<TrainingView> {
    Sighting::Unknown {
        why: why.to_owned(),
        since: run.last_training.as_ref().map(|last| last.at),
    }
}

fn unknown_checkpoints(run: &RunRecord, why: &str) -> Sighting<CheckpointView> {
    Sighting::Unknown {
        why: why.to_owned(),
        since: run.last_checkpoints.as_ref().map(|last| last.at),
    }
}

/// The state in one word, for a person.
pub(crate) fn word(view: &InstanceView) -> &'static str {
    match view {
        InstanceView::Absent => "absent",
        InstanceView::Creating { .. } => "creating",
        InstanceView::Locked { .. } => "locked",
        InstanceView::Running { .. } => "running",
        InstanceView::Stopping { .. } => "stopping",
        InstanceView::Stopped { .. } => "stopped",
        InstanceView::Destroying { .. } => "destroying",
        InstanceView::Broken { .. } => "broken",
        InstanceView::Several { .. } => "there more than once",
    }
}
