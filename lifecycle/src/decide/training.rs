//! The training was launched and the box runs.

use chrono::{DateTime, Utc};

use super::case::{Case, later, seconds};
use super::work::{grace_until, work_of};
use super::{explain, set_up, teardown};
use crate::action::Action;
use crate::observation::{AgentState, Sighting, TrainingState, TrainingView};
use crate::plan::{AttentionKind, Plan, VerdictKind};
use crate::run::{Outcome, Phase, RunRecord};

/// How long a launched training may leave no trace.
const COMES_UP_SECONDS: u64 = 60;

/// The training isn't known to be over.
pub(super) fn decide(case: &Case<'_>, id: &str) -> Plan {
    let view = match &case.seen.training {
        Sighting::Seen { value, .. } => value,
        Sighting::Unknown { why, since } => return unseen(case, why, *since),
    };
    if is_earlier(case, view) {
        return match view.state.is_alive() {
            true => set_up::end_earlier(case, case.target(id)),
            false => never_came_up(case, id),
        };
    }
    match view.state {
        TrainingState::NotLaunched => never_came_up(case, id),
        TrainingState::Starting | TrainingState::Running => goes_on(case, id, view),
        TrainingState::Stalled
        | TrainingState::Completed
        | TrainingState::Failed
        | TrainingState::Killed => over(case, id),
    }
}

/// The training ended or stalled. What was proven about it stays true while nobody can look, but it is
/// not acted upon before the grace period is over: unknown is not idle.
pub(super) fn over(case: &Case<'_>, id: &str) -> Plan {
    match &case.seen.training {
        Sighting::Seen { value, .. } if value.state.is_alive() && is_earlier(case, value) => {
            set_up::end_earlier(case, case.target(id))
        }
        Sighting::Seen { value, .. } if value.state == TrainingState::Stalled => {
            stalled(case, id, value)
        }
        Sighting::Seen { .. } => teardown::rest(case, id),
        Sighting::Unknown { why, since } => {
            let last_seen = case.run.last_training.as_ref().map(|last| last.at);
            let grace = seconds(case.run.spec.stop.grace_seconds);
            let waited = last_seen.is_some_and(|at| case.now >= later(at, grace));
            if waited && work_of(case.run, case.seen).is_safe() {
                return teardown::rest(case, id);
            }
            unseen(case, why, *since)
        }
    }
}

/// Of a launch before the newest.
fn is_earlier(case: &Case<'_>, view: &TrainingView) -> bool {
    view.attempt
        .is_some_and(|attempt| attempt < case.run.launches)
}

fn goes_on(case: &Case<'_>, id: &str, view: &TrainingView) -> Plan {
    let draft = case.draft(VerdictKind::Keep, explain::training(case, view));
    if view.agent == AgentState::Alive {
        let checkpoints = case.seen.checkpoints.value();
        let waiting = checkpoints.is_some_and(|view| !view.to_fetch.is_empty());
        let fetch = waiting.then(|| Action::Fetch {
            target: case.target(id),
        });
        return draft.actions(fetch).plan();
    }
    // Nobody on the box pushes: this look does, and gives the training a new agent.
    draft
        .action(Action::PushNow { target: case.target(id) })
        .attention(
            AttentionKind::AgentSilent,
            "the training lives, its agent is silent: checkpoints leave the box only when somebody looks",
            "`gpurun reap` pushes and starts it again",
        )
        .plan()
}

fn stalled(case: &Case<'_>, id: &str, view: &TrainingView) -> Plan {
    let why = explain::stall(case, view);
    let end = Action::EndTraining {
        target: case.target(id),
        why: why.clone(),
        outcome: Outcome::Stalled,
    };
    let draft = case
        .draft(VerdictKind::End, why.clone())
        .action(end)
        .attention(
            AttentionKind::TrainingEnded,
            why,
            "`gpurun logs` shows its last words",
        );
    // It was told and doesn't leave: what is safe doesn't wait for it.
    let told = case.run.end_ordered.is_some()
        && grace_until(case.run).is_some_and(|until| case.now >= until);
    if told {
        teardown::rest(case, id)
    } else {
        draft.plan()
    }
}

/// Launched by the ledger, unknown on the box: the agent died before the training began.
fn never_came_up(case: &Case<'_>, id: &str) -> Plan {
    let run = case.run;
    let comes_up_until = run
        .launched_at
        .map(|at| later(at, seconds(COMES_UP_SECONDS)));
    if let Some(until) = comes_up_until.filter(|until| case.now < *until) {
        let reason = format!(
            "the training was launched and comes up; {}",
            explain::burns(case)
        );
        return case
            .draft(VerdictKind::Wait, reason)
            .wait("training", Some(until), "it comes up")
            .plan();
    }
    if run.launches < run.spec.timing.retry_limit {
        let before = RunRecord {
            phase: Phase::Staged,
            ..run.clone()
        };
        let before = Case {
            run: &before,
            ..*case
        };
        return case
            .draft(
                VerdictKind::SetUp,
                "the launch left no trace on the box: launched again",
            )
            .actions(set_up::remaining(&before, &case.target(id), false))
            .plan();
    }
    let why = format!("{} launches left no trace on the box", run.launches);
    teardown::failed(case, id, &why)
}

fn unseen(case: &Case<'_>, why: &str, since: Option<DateTime<Utc>>) -> Plan {
    let next = later(case.now, case.poll());
    let reason = format!(
        "the training can't be seen ({why}): unknown is not idle, {}",
        explain::burns(case)
    );
    let draft = case
        .draft(VerdictKind::Wait, reason)
        .wait("box", Some(next), why);
    let last_seen = case
        .run
        .last_training
        .as_ref()
        .map(|last| last.at)
        .or(case.run.launched_at);
    let since = since.or(last_seen);
    let long = seconds(case.run.spec.stop.stall_seconds);
    if let Some(since) = since.filter(|since| case.age(*since) > long) {
        return draft
            .attention(
                AttentionKind::Unseen,
                format!(
                    "the box has not answered for {}: {why}",
                    explain::since(case, since)
                ),
                "`gpurun logs` tries again; `gpurun destroy --force` gives it up",
            )
            .plan();
    }
    draft.plan()
}
