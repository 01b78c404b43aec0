//! What must never happen, whatever the arithmetic says: a check over a plan, run by property tests and
//! before anything is executed.

use thiserror::Error;

use crate::action::{Action, Step, Target};
use crate::decide::{Cap, cap_reached, grace_until, work_of};
use crate::observation::{InstanceView, Observation};
use crate::plan::{AttentionKind, Plan, VerdictKind};
use crate::run::{Intent, Phase, RunRecord};

/// One thing wrong with a plan.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PlanFault {
    #[error("the verdict gives no reason in one line")]
    NoReason,
    #[error("the verdict is {0:?}, the actions say otherwise")]
    VerdictDisagrees(VerdictKind),
    #[error("the steps are out of order: {0}")]
    Order(&'static str),
    #[error("to {} needs the provider's id of the box", .0.describe())]
    NoInstance(Step),
    #[error("to {} on {target:?}: that is not this run's box", .step.describe())]
    NotOurs { step: Step, target: Target },
    #[error("to {} without having seen the provider's list", .0.describe())]
    Blind(Step),
    #[error("a box is rented while another one of this run may exist")]
    SecondBox,
    #[error("the account is closed while a box may exist")]
    OpenEnd,
    #[error("to {} while its newest checkpoint is not verified off it: {what}", .step.describe())]
    Unverified { step: Step, what: String },
    #[error("checkpoints are given up and nobody is told")]
    SilentLoss,
    #[error("to {} while a training may be running there", .0.describe())]
    TrainingRuns(Step),
    #[error("a second training is launched beside a living one")]
    SecondTraining,
}

/// Checks `plan`, made for `run` and `seen`.
///
/// # Errors
/// Every fault found; such a plan must not be executed.
pub fn lint(run: &RunRecord, seen: &Observation, plan: &Plan) -> Result<(), Vec<PlanFault>> {
    let mut faults = Vec::new();
    let reason = &plan.verdict.reason;
    if reason.trim().is_empty() || reason.contains('\n') {
        faults.push(PlanFault::NoReason);
    }
    faults.extend(verdict(plan));
    faults.extend(order(plan));
    for (index, action) in plan.actions.iter().enumerate() {
        let before = &plan.actions[..index];
        faults.extend(target(run, seen, action, before));
        faults.extend(sight(run, seen, action));
        faults.extend(ending(run, seen, plan, action, before));
        faults.extend(launching(seen, action));
    }
    if faults.is_empty() {
        Ok(())
    } else {
        Err(faults)
    }
}

fn has(plan: &Plan, step: Step) -> bool {
    plan.actions.iter().any(|action| action.step() == step)
}

fn verdict(plan: &Plan) -> Option<PlanFault> {
    let kind = plan.verdict.kind;
    let ends = [Step::StopInstance, Step::DestroyInstance, Step::Close];
    let agrees = match kind {
        VerdictKind::Stop => has(plan, Step::StopInstance) && !has(plan, Step::DestroyInstance),
        VerdictKind::Destroy => has(plan, Step::DestroyInstance) && !has(plan, Step::StopInstance),
        VerdictKind::Start => has(plan, Step::StartInstance),
        VerdictKind::Push => has(plan, Step::PushNow) && !ends.iter().any(|step| has(plan, *step)),
        VerdictKind::End => {
            has(plan, Step::EndTraining) && !ends.iter().any(|step| has(plan, *step))
        }
        VerdictKind::Close => plan
            .actions
            .iter()
            .all(|action| action.step() == Step::Close),
        VerdictKind::SetUp => !ends.iter().any(|step| has(plan, *step)),
        // Looking after checkpoints and letting us in are no changes.
        VerdictKind::Keep | VerdictKind::Wait => plan.actions.iter().all(|action| {
            matches!(
                action.step(),
                Step::PushNow | Step::Fetch | Step::Adopt | Step::Authorize
            )
        }),
    };
    (!agrees).then_some(PlanFault::VerdictDisagrees(kind))
}

/// Where a step stands among the others of a plan.
fn rank(step: Step) -> u8 {
    match step {
        Step::Rent | Step::Adopt | Step::Authorize => 0,
        Step::StartInstance => 1,
        Step::Install => 2,
        Step::Prove => 3,
        Step::Stage => 4,
        Step::Restore => 5,
        Step::Launch => 6,
        Step::EndTraining => 7,
        Step::PushNow | Step::Fetch => 8,
        Step::StopInstance | Step::DestroyInstance => 9,
        Step::Close => 10,
    }
}

fn order(plan: &Plan) -> Option<PlanFault> {
    let ranks: Vec<u8> = plan
        .actions
        .iter()
        .map(|action| rank(action.step()))
        .collect();
    if !ranks.is_sorted() {
        return Some(PlanFault::Order("each step has its place"));
    }
    let once = [
        Step::Rent,
        Step::Adopt,
        Step::Launch,
        Step::Close,
        Step::StopInstance,
    ];
    let twice = once.iter().any(|step| {
        plan.actions
            .iter()
            .filter(|action| action.step() == *step)
            .count()
            > 1
    });
    if twice {
        return Some(PlanFault::Order("a step that happens once is there twice"));
    }
    (has(plan, Step::Close) && plan.actions.len() > 1)
        .then_some(PlanFault::Order("nothing goes with a close"))
}

/// A box this run may act upon: the ledger's; one with our label while the ledger knows none or has put no work
/// anywhere; or, to be destroyed, a spare one beside the ledger's.
fn target(
    run: &RunRecord,
    seen: &Observation,
    action: &Action,
    before: &[Action],
) -> Option<PlanFault> {
    let step = action.step();
    let target = action.target()?;
    let not_ours = PlanFault::NotOurs {
        step,
        target: target.clone(),
    };
    if target.label != run.label || target.provider != run.spec.provider {
        return Some(not_ours);
    }
    let Some(id) = &target.instance else {
        let created_here = before.iter().any(|action| action.step() == Step::Rent);
        return (step != Step::Rent && !created_here).then_some(PlanFault::NoInstance(step));
    };
    let known = run.instance.as_ref().map(|instance| &instance.id);
    let seen_one = seen.instance.value().and_then(InstanceView::id) == Some(id.as_str());
    let seen_among = match seen.instance.value() {
        Some(InstanceView::Several { ids }) => ids.contains(id),
        _ => false,
    };
    let ours = match known {
        Some(known) if known == id => true,
        Some(known) if step == Step::DestroyInstance && seen_among => {
            matches!(seen.instance.value(), Some(InstanceView::Several { ids }) if ids.contains(known))
        }
        Some(_) => run.launches == 0 && seen_one,
        None => seen_one || seen_among,
    };
    (!ours).then_some(not_ours)
}

/// What needs the provider's list to have been read.
fn sight(run: &RunRecord, seen: &Observation, action: &Action) -> Option<PlanFault> {
    let step = action.step();
    let view = seen.instance.value();
    let absent = matches!(view, Some(InstanceView::Absent));
    match step {
        Step::Rent if view.is_none() => Some(PlanFault::Blind(step)),
        Step::Rent => {
            let lag = i64::try_from(run.spec.timing.list_lag_seconds).unwrap_or(i64::MAX);
            let settled = run
                .rent_pending_since
                .is_none_or(|sent| (seen.now - sent).num_seconds() >= lag);
            let free = absent && settled && run.instance.is_none() && run.phase != Phase::Ended;
            (!free).then_some(PlanFault::SecondBox)
        }
        Step::Close => (!absent || run.instance.is_some()).then_some(PlanFault::OpenEnd),
        Step::StartInstance if view.is_none() => Some(PlanFault::Blind(step)),
        Step::StopInstance | Step::DestroyInstance
            if view.is_none() && cap_reached(run, seen.now).is_none() =>
        {
            Some(PlanFault::Blind(step))
        }
        _ => None,
    }
}

/// Stopping and destroying: never what holds the only copy, but for grace, force and caps.
fn ending(
    run: &RunRecord,
    seen: &Observation,
    plan: &Plan,
    action: &Action,
    before: &[Action],
) -> Vec<PlanFault> {
    let step = action.step();
    let destroys = step == Step::DestroyInstance;
    let Some(id) = action.target().and_then(|target| target.instance.as_ref()) else {
        return Vec::new();
    };
    let holds_no_work = run.launched_on.as_ref() != Some(id);
    let going = matches!(seen.instance.value(), Some(InstanceView::Destroying { .. }));
    if !matches!(step, Step::StopInstance | Step::DestroyInstance) || holds_no_work || going {
        return Vec::new();
    }
    let cap = cap_reached(run, seen.now);
    let forced = destroys && run.force && run.intent == Intent::Destroy;
    let grace_over = grace_until(run).is_some_and(|until| seen.now >= until);
    let mut faults = Vec::new();
    let work = work_of(run, seen);
    if !work.is_safe() {
        let stop_exists = run.rate_card().is_some_and(|card| card.stop.exists());
        let may = match cap {
            Some(Cap::MaxCost) => true,
            Some(Cap::MaxHours) if !destroys || !stop_exists => true,
            _ if destroys => forced || (run.intent == Intent::Destroy && grace_over),
            _ => grace_over,
        };
        if !may {
            faults.push(PlanFault::Unverified {
                step,
                what: work.text().to_owned(),
            });
        }
        let told = plan
            .attention
            .iter()
            .any(|attention| attention.kind == AttentionKind::Lost);
        if destroys && !told {
            faults.push(PlanFault::SilentLoss);
        }
    }
    let ended_before = before
        .iter()
        .any(|action| action.step() == Step::EndTraining);
    let told_long_ago = run.end_ordered.is_some() && grace_over;
    if may_train(run, seen) && !(ended_before || forced || told_long_ago) {
        faults.push(PlanFault::TrainingRuns(step));
    }
    faults
}

/// Whether a training may be running on the box, as far as anybody knows.
fn may_train(run: &RunRecord, seen: &Observation) -> bool {
    let on = !matches!(seen.instance.value(), Some(InstanceView::Stopped { .. }));
    let alive = match seen.training.value() {
        Some(view) => view.state.is_alive(),
        None => run.ended.is_none(),
    };
    on && alive && run.phase == Phase::Launched
}

fn launching(seen: &Observation, action: &Action) -> Option<PlanFault> {
    let Action::Launch {
        attempt, target, ..
    } = action
    else {
        return None;
    };
    // On a box that this very plan rents nothing runs yet.
    target.instance.as_ref()?;
    let view = seen.training.value()?;
    (view.state.is_alive() && view.attempt != Some(*attempt)).then_some(PlanFault::SecondTraining)
}

#[cfg(test)]
mod tests;
