//! Which files are due to be pushed: pure.

use chrono::{DateTime, TimeDelta, Utc};
use gpurun_protocol::agent_spec::PushSpec;
use gpurun_protocol::manifest::{Content, Manifest, Milestone};

use super::scan::{FileLook, Look};

/// What makes a pass look for due files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trigger {
    /// The training goes on.
    Watch,
    /// `gpurun push`: everything that isn't at the destination.
    Requested,
    /// The training has ended.
    End,
}

/// One file and why it is due.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Due {
    pub(crate) file: FileLook,
    pub(crate) milestone: Milestone,
}

/// What a checkpoint file's name says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Best,
    Last,
    Epoch(u32),
    Other,
}

impl Role {
    pub(crate) fn of(name: &str) -> Role {
        match name {
            "best.pt" => Role::Best,
            "last.pt" => Role::Last,
            _ => name
                .strip_prefix("epoch_")
                .and_then(|rest| rest.strip_suffix(".pt"))
                .filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))
                .and_then(|digits| digits.parse().ok())
                .map_or(Role::Other, Role::Epoch),
        }
    }
}

/// The due files, the most valuable first. `started_at` is when the training began.
pub(crate) fn due(
    spec: &PushSpec,
    look: &Look,
    manifest: Option<&Manifest>,
    trigger: Trigger,
    started_at: DateTime<Utc>,
    now: DateTime<Utc>,
) -> Vec<Due> {
    let known = |name: &str| manifest.and_then(|manifest| manifest.verified(name));
    let mut due: Vec<Due> = look
        .files
        .iter()
        .filter(|file| !is_same(known(&file.name), file))
        .filter_map(|file| {
            let role = Role::of(&file.name);
            let ever = known(&file.name);
            let milestone = match trigger {
                Trigger::Requested => Some(Milestone::Requested),
                _ => watched(spec, role, ever, started_at, now)
                    .or((trigger == Trigger::End && spec.at_end).then_some(Milestone::End)),
            };
            Some(Due {
                file: file.clone(),
                milestone: milestone?,
            })
        })
        .collect();
    due.sort_by_key(|due| match Role::of(&due.file.name) {
        Role::Best => (0, 0),
        Role::Last => (1, 0),
        Role::Epoch(epoch) => (2, u32::MAX - epoch),
        Role::Other => (3, 0),
    });
    due
}

/// Whether this very version is at the destination.
pub(crate) fn is_same(known: Option<&Content>, file: &FileLook) -> bool {
    known.is_some_and(|content| {
        content.bytes == file.stamp.bytes && content.modified_at == file.stamp.modified
    })
}

/// The milestone a changed file has reached while the training goes on.
fn watched(
    spec: &PushSpec,
    role: Role,
    ever: Option<&Content>,
    started_at: DateTime<Utc>,
    now: DateTime<Utc>,
) -> Option<Milestone> {
    match role {
        Role::Best if ever.is_none() => {
            (spec.first_best || spec.each_best).then_some(Milestone::FirstBest)
        }
        Role::Best => spec.each_best.then_some(Milestone::Best),
        Role::Epoch(_) => spec.epochs.then_some(Milestone::Epoch),
        Role::Last => {
            let minutes = TimeDelta::minutes(spec.every_minutes?.into());
            // A resumed training counts from its own start.
            let since = ever
                .and_then(|content| content.pushed_at)
                .map_or(started_at, |pushed| pushed.max(started_at));
            (now - since >= minutes).then_some(Milestone::Interval)
        }
        Role::Other => None,
    }
}

#[cfg(test)]
#[path = "milestones_tests.rs"]
pub(crate) mod tests;
