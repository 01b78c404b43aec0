//! Caps on money and time. They are hard: they beat grace, policy and missing sight.

use chrono::{DateTime, Utc};
use gpurun_pricing::budget::{Cap, Caps, Spent, Standing};
use gpurun_pricing::{BilledState, Hours};

use super::case::{Case, later};
use super::explain;
use super::work::work_of;
use crate::action::Action;
use crate::observation::{InstanceView, TrainingState};
use crate::plan::{AttentionKind, Plan, VerdictKind, Wait};
use crate::run::{Outcome, RunRecord};

/// Ends the run when a cap is reached: the training, a last push, then the box. A cap on time only stops
/// it, where a stop keeps the disk; a cap on money destroys, since a stopped disk goes on costing.
pub(super) fn enforce(case: &Case<'_>, id: &str) -> Option<Plan> {
    let cap = reached(case)?;
    let stopped = is_stopped(case);
    if cap == Cap::MaxHours && stopped {
        return None;
    }
    let view = case.seen.instance.value();
    let seen_stopped = matches!(view, Some(InstanceView::Stopped { .. }));
    let work = work_of(case.run, case.seen);
    let target = case.target(id);
    // Its last checkpoint may be newer than what is known now.
    let unsure = !work.is_safe() || may_train(case);
    let keeps_disk = cap == Cap::MaxHours && case.can_stop() && unsure;
    let kind = if keeps_disk {
        VerdictKind::Stop
    } else {
        VerdictKind::Destroy
    };
    let why = explain::cap(case, cap);
    let mut draft = case.draft(kind, why.clone());
    if may_train(case) && !seen_stopped {
        let (target, why) = (target.clone(), why.clone());
        draft = draft.action(Action::EndTraining {
            target,
            why,
            outcome: Outcome::Capped,
        });
    }
    if !work.is_safe() && !seen_stopped {
        draft = draft.action(Action::PushNow {
            target: target.clone(),
        });
    }
    draft = draft.attention(
        AttentionKind::Capped,
        why,
        "raise the cap and `gpurun start` to go on",
    );
    if keeps_disk {
        return Some(draft.action(Action::StopInstance { target }).plan());
    }
    if !work.is_safe() {
        draft = draft.attention(
            AttentionKind::Lost,
            format!(
                "unless its last push succeeds, this is lost: {}",
                work.text()
            ),
            "raise the cap before it is reached, or push more often",
        );
    }
    Some(
        draft
            .action(Action::DestroyInstance {
                target,
                outcome: Some(Outcome::Capped),
            })
            .plan(),
    )
}

/// The cap that `run` has reached at `now`, if one.
#[must_use]
pub fn cap_reached(run: &RunRecord, now: DateTime<Utc>) -> Option<Cap> {
    standing(run, now).reached()
}

/// The same, of a case.
pub(super) fn reached(case: &Case<'_>) -> Option<Cap> {
    cap_reached(case.run, case.now)
}

/// Says in every plan when a cap will end it, and warns before the last look.
pub(super) fn announce(case: &Case<'_>, plan: &mut Plan) {
    let standing = standing(case.run, case.now);
    let (Some(cap), Some(left)) = (standing.next, standing.reached_in) else {
        return;
    };
    if left.is_zero() || case.burn().is_zero() || (cap == Cap::MaxHours && is_stopped(case)) {
        return;
    }
    let until = later(case.now, left.to_time_delta());
    let why = explain::cap_ahead(case, cap, left);
    plan.waits.push(Wait {
        on: "cap".to_owned(),
        until: Some(until),
        why: why.clone(),
    });
    if until <= later(case.now, case.poll()) {
        plan.attention.push(crate::plan::Attention {
            kind: AttentionKind::Capped,
            message: why,
            remedy: "raise the cap if the run is to go on".to_owned(),
        });
    }
}

fn standing(run: &RunRecord, now: DateTime<Utc>) -> Standing {
    let stop = &run.spec.stop;
    let (max_cost, max_hours) = (stop.max_cost, stop.max_hours);
    let time = match max_hours {
        Some(_) => run.running_hours(now),
        None => Hours::ZERO,
    };
    let (money, burn) = (run.spent(now), run.burn(now));
    Caps {
        max_cost,
        max_hours,
    }
    .standing(&Spent { money, time, burn })
}

/// By the box's last known state, so that it holds also while nobody can look.
fn is_stopped(case: &Case<'_>) -> bool {
    let account = case.run.accounts.last();
    let last = account.and_then(|account| account.intervals.last());
    last.is_some_and(|last| last.to.is_none() && last.state == BilledState::Stopped)
}

fn may_train(case: &Case<'_>) -> bool {
    let over = case
        .seen
        .training
        .value()
        .is_some_and(|view| view.state.is_over() || view.state == TrainingState::NotLaunched);
    case.run.launches > 0 && !over
}
