//! What was seen. Only sightings change the record; `Unknown` leaves it as it is.

use chrono::{DateTime, Utc};
use gpurun_pricing::BilledState;

use super::done::outcome_of;
use super::intervals::{self, End};
use super::{prices, spares};
use crate::action::Step;
use crate::observation::{
    CheckpointView, InstanceView, Observation, Sighting, TrainingState, TrainingView,
};
use crate::run::{Dated, Ended, Intent, Outcome, Phase, RunRecord, TriedOffer};
use crate::time::{later, seconds};

/// Takes one look into the record.
pub fn absorb(run: &mut RunRecord, seen: &Observation) {
    if let Sighting::Seen { value, at } = &seen.instance {
        spares::absorb(run, value, *at);
        instance(run, value, *at);
    }
    if run.instance.is_none() {
        return;
    }
    if let Sighting::Seen { value, at } = &seen.checkpoints {
        absorb_box(run, None, Some(value), *at);
    }
    if let Sighting::Seen { value, at } = &seen.training {
        absorb_box(run, Some(value), None, *at);
    }
}

/// What the box itself said at `at`.
pub(super) fn absorb_box(
    run: &mut RunRecord,
    training_view: Option<&TrainingView>,
    checkpoints: Option<&CheckpointView>,
    at: DateTime<Utc>,
) {
    if let Some(value) = checkpoints {
        run.last_checkpoints = Some(Dated {
            value: value.clone(),
            at,
        });
    }
    if let Some(value) = training_view {
        training(run, value, at);
        run.last_training = Some(Dated {
            value: value.clone(),
            at,
        });
    }
}

fn instance(run: &mut RunRecord, view: &InstanceView, at: DateTime<Utc>) {
    let known = run.instance.as_ref().map(|instance| instance.id.clone());
    let same = |id: &String| known.as_ref() == Some(id);
    if let Some(instance) = run
        .instance
        .as_mut()
        .filter(|instance| lists(view, &instance.id))
    {
        instance.listed_at.get_or_insert(at);
    }
    match view {
        InstanceView::Destroying { id, .. } if same(id) => run.accepted_at = None,
        InstanceView::Absent if proves_gone(run, at) => gone(run, at),
        InstanceView::Absent if known.is_none() && run.destroy_ordered_at.is_some() => {
            gone(run, at)
        }
        InstanceView::Running {
            id,
            since,
            zero_gpus,
            price,
        } if same(id) => {
            if let (true, Some(instance)) = (*zero_gpus, &mut run.instance) {
                instance.fault = Some("it came up without GPUs".to_owned());
            }
            if was_stopped(run) || restarted(run, *since) {
                run.phase = run.phase.min(Phase::Rented);
                run.ready_at = None;
            }
            came_up(run, *since, at);
            run.accepted_at = None;
            let before = run
                .accounts
                .last()
                .and_then(|account| account.seen_running_at());
            enter(run, BilledState::Running, *since, at);
            if let Some(price) = price {
                prices::reprice(run, *price, before, at);
            }
        }
        InstanceView::Creating { id, since } if same(id) => {
            wakes(run, since.unwrap_or(at));
            enter(run, BilledState::Running, *since, at);
        }
        InstanceView::Locked { id } if same(id) => enter(run, BilledState::Running, None, at),
        // A broken host isn't free until the provider says so.
        InstanceView::Broken { id, since, why } if same(id) => {
            if let Some(instance) = &mut run.instance {
                instance.fault = Some(why.clone());
            }
            enter(run, BilledState::Running, *since, at);
        }
        InstanceView::Stopped { id, since } if same(id) => {
            let since = since.or(run.accepted_at.take());
            enter(run, BilledState::Stopped, since, at);
        }
        _ => {}
    }
}

fn lists(view: &InstanceView, id: &str) -> bool {
    match view {
        InstanceView::Several { ids } => ids.iter().any(|listed| listed == id),
        view => view.id() == Some(id),
    }
}

/// A new box may be missing from the list for a while.
fn proves_gone(run: &RunRecord, at: DateTime<Utc>) -> bool {
    run.instance.as_ref().is_some_and(|instance| {
        let settled = later(
            instance.rented_at,
            seconds(run.spec.timing.list_lag_seconds),
        );
        instance.listed_at.is_some() || at >= settled
    })
}

/// A box that was up and comes up again: what ran on it is gone.
fn wakes(run: &mut RunRecord, since: DateTime<Utc>) {
    let Some(instance) = &mut run.instance else {
        return;
    };
    if instance.came_up_at.take().is_none() && run.phase < Phase::Launched {
        return;
    }
    instance.waking_since.get_or_insert(since);
    run.phase = run.phase.min(Phase::Rented);
    run.ready_at = None;
}

fn came_up(run: &mut RunRecord, since: Option<DateTime<Utc>>, at: DateTime<Utc>) {
    let Some(instance) = &mut run.instance else {
        return;
    };
    instance.running_since = since.or(instance.running_since);
    instance.waking_since = None;
    if instance.came_up_at.is_none() {
        instance.came_up_at = Some(at);
        // Before that, a step could only find nobody there.
        run.failures.retain(|failure| !failure.temporary);
    }
}

fn enter(run: &mut RunRecord, state: BilledState, since: Option<DateTime<Utc>>, at: DateTime<Utc>) {
    if let Some(account) = run.accounts.last_mut() {
        intervals::enter(&mut account.intervals, state, since, at);
    }
}

fn gone(run: &mut RunRecord, at: DateTime<Utc>) {
    let end = match run.accepted_at.take() {
        Some(accepted) => End::Timed(accepted.min(at)),
        None => End::Seen(at),
    };
    // Nobody ever saw it running: that it was billed at all is an assumption.
    let is_new = run.phase < Phase::Installed;
    let came_up = run
        .instance
        .as_ref()
        .and_then(|instance| instance.came_up_at);
    let never_up = is_new && came_up.is_none();
    if let Some(account) = run.accounts.last_mut() {
        intervals::close(&mut account.intervals, end);
        if let (true, [only]) = (never_up, account.intervals.as_mut_slice()) {
            only.certain_until = Some(only.from);
        }
    }
    let given_back = run.destroy_ordered_at.take().is_some();
    let outcome = run.destroy_outcome.take();
    let in_vain = run.launches == 0 && run.ended.is_none() && run.intent == Intent::Run;
    if in_vain && matches!(outcome, None | Some(Outcome::NeverStarted)) {
        run.tried.extend(tried(run, given_back, at));
    }
    run.instance = None;
    if let (Some(outcome), None) = (outcome, &run.ended) {
        run.ended = Some(Ended { outcome, at });
    }
    if run.phase != Phase::Ended {
        run.phase = Phase::Requested;
    }
    run.lost_at = Some(at);
    run.failures.clear();
    run.stop_ordered_at = None;
    run.ready_at = None;
}

/// The offer whose box is gone before anything ran on it, and whether its machine is to blame: an engine that can't be
/// installed or data that can't be staged is not its fault.
fn tried(run: &RunRecord, given_back: bool, at: DateTime<Utc>) -> Option<TriedOffer> {
    let instance = run.instance.as_ref()?;
    let offer = instance.offer.clone()?;
    let failure = run.failures.iter().max_by_key(|failure| failure.last_at);
    let why = match (failure, &instance.fault) {
        (_, Some(fault)) => fault.clone(),
        (Some(failure), None) => {
            format!("could not {}: {}", failure.step.describe(), failure.message)
        }
        (None, None) if given_back => "it never came up".to_owned(),
        (None, None) => "the provider took it away".to_owned(),
    };
    let to_blame =
        instance.fault.is_some() || failure.is_none_or(|failure| failure.step == Step::Prove);
    let offered = run.spec.offers.iter().find(|offered| offered.id == offer);
    Some(TriedOffer {
        host: offered
            .filter(|_| to_blame)
            .and_then(|offered| offered.host.clone()),
        lost: Some(run.spent_on(&instance.id, at)),
        offer,
        at,
        why,
    })
}

fn training(run: &mut RunRecord, view: &TrainingView, at: DateTime<Utc>) {
    let attempt = view.attempt.unwrap_or(run.launches);
    let alive = view.state.is_alive();
    // A crash between the launch and its record: what runs on the box is the truth.
    let unrecorded = attempt > run.launches && view.state != TrainingState::NotLaunched;
    if unrecorded || (alive && attempt == run.launches && run.launches > 0) {
        run.phase = run.phase.max(Phase::Launched);
    }
    if unrecorded {
        run.launches = attempt;
        run.launched_at = view.started_at.or(Some(at));
        run.launched_on = run.instance.as_ref().map(|instance| instance.id.clone());
        run.start_asked = false;
        run.ended = None;
        run.end_ordered = None;
    }
    if run.phase != Phase::Launched || attempt != run.launches {
        return;
    }
    let by_itself = match view.state {
        TrainingState::Completed => Outcome::Completed,
        TrainingState::Failed => Outcome::Failed,
        TrainingState::Killed => Outcome::Killed,
        TrainingState::Stalled => Outcome::Stalled,
        TrainingState::Starting | TrainingState::Running => {
            // It went on after all.
            run.ended = None;
            return;
        }
        TrainingState::NotLaunched => return,
    };
    let outcome = outcome_of(run, by_itself);
    let since = run.ended.as_ref().map(|ended| ended.at);
    let ended_at = view.ended_at.or(since).unwrap_or(at).min(at);
    run.ended = Some(Ended {
        outcome,
        at: ended_at,
    });
}

fn was_stopped(run: &RunRecord) -> bool {
    let intervals = run.accounts.last().map(|account| &account.intervals);
    intervals
        .and_then(|intervals| intervals.last())
        .is_some_and(|interval| interval.to.is_none() && interval.state == BilledState::Stopped)
}

fn restarted(run: &RunRecord, since: Option<DateTime<Utc>>) -> bool {
    let before = run
        .instance
        .as_ref()
        .and_then(|instance| instance.running_since);
    matches!((before, since), (Some(before), Some(since)) if since > before)
}
