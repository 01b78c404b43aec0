//! The box comes, goes or is broken.

use chrono::{DateTime, Utc};

use super::case::{Case, later, seconds};
use super::teardown::{end_box, unverified};
use super::work::work_of;
use super::{caps, explain, teardown, training};
use crate::action::Action;
use crate::observation::InstanceView;
use crate::plan::{Attention, AttentionKind, Plan, VerdictKind};
use crate::run::{Intent, Outcome, Phase};

pub(super) fn decide(case: &Case<'_>, id: &str, view: &InstanceView) -> Plan {
    if let InstanceView::Destroying { .. } = view {
        return destroying(case, id);
    }
    if let Some(plan) = caps::enforce(case, id) {
        return plan;
    }
    match view {
        InstanceView::Creating { since, .. } => creating(case, id, *since),
        InstanceView::Locked { .. } => locked(case, id),
        InstanceView::Broken { why, .. } => broken(case, id, why),
        _ => stopping(case),
    }
}

fn creating(case: &Case<'_>, id: &str, since: Option<DateTime<Utc>>) -> Plan {
    let run = case.run;
    if run.phase >= Phase::Launched {
        // What is heard from the box itself is nearer than what its provider says of it.
        return match run.intent {
            Intent::Run => training::decide(case, id),
            Intent::Stop | Intent::Destroy => teardown::wished(case, id),
        };
    }
    let work = work_of(run, case.seen);
    let outcome = if run.launches == 0 {
        Outcome::NeverStarted
    } else {
        Outcome::Abandoned
    };
    if run.intent == Intent::Destroy && work.is_safe() {
        return end_box(case, case.target(id), outcome, &work, "you said destroy");
    }
    let known = run.instance.as_ref().filter(|instance| instance.id == id);
    let from = since
        .or(known.and_then(|instance| instance.waking_since))
        .or(known.map(|instance| instance.rented_at))
        .or(run.rent_pending_since)
        .unwrap_or(case.now);
    let deadline = later(from, seconds(run.spec.timing.boot_seconds));
    let reason = format!(
        "the box comes up; given back if it doesn't by {}",
        explain::clock(deadline)
    );
    if case.now < deadline {
        let adopt = known.is_none().then(|| Action::Adopt {
            target: case.target(id),
        });
        return case
            .draft(VerdictKind::Wait, reason)
            .actions(adopt)
            .wait("box running", Some(deadline), "it comes up")
            .plan();
    }
    let why = format!("the box did not come up in {}", explain::since(case, from));
    give_back(case, id, &why)
}

/// As one that comes up, with another try to get in.
fn locked(case: &Case<'_>, id: &str) -> Plan {
    let mut plan = creating(case, id, None);
    let known = case.run.instance.as_ref();
    if plan.verdict.kind == VerdictKind::Wait && known.is_some_and(|known| known.id == id) {
        plan.actions.push(Action::Authorize {
            target: case.target(id),
        });
    }
    plan
}

/// The provider's word is not the training's: while that goes on, or nobody knows, nothing is ended.
fn broken(case: &Case<'_>, id: &str, why: &str) -> Plan {
    let run = case.run;
    let why = format!("the provider says the box is broken: {why}");
    if run.intent != Intent::Run {
        return teardown::wished(case, id);
    }
    if run.phase < Phase::Launched && run.ended.is_none() {
        return give_back(case, id, &why);
    }
    let mut plan = if run.ended.is_some() {
        training::over(case, id)
    } else {
        training::decide(case, id)
    };
    plan.attention.push(Attention {
        kind: AttentionKind::Boxes,
        message: why,
        remedy: "`gpurun logs` shows whether it still answers".to_owned(),
    });
    plan
}

/// Nothing more is to be had of this box.
fn give_back(case: &Case<'_>, id: &str, why: &str) -> Plan {
    let run = case.run;
    let work = work_of(run, case.seen);
    if !work.is_safe() {
        return unverified(case, id, why);
    }
    let another = run.spec.offers.len() > run.tried.len() + 1;
    let goes_on = run.intent == Intent::Run
        && if run.launches == 0 {
            another
        } else {
            case.may_relaunch()
        };
    let outcome = match (goes_on, run.launches) {
        (true, _) => None,
        (false, 0) => Some(Outcome::NeverStarted),
        (false, _) => Some(Outcome::Vanished),
    };
    case.draft(VerdictKind::Destroy, explain::give_back(case, why, goes_on))
        .action(Action::DestroyInstance {
            target: case.target(id),
            outcome,
        })
        .attention(
            AttentionKind::SetUpFailed,
            explain::lost(case, why),
            "nothing to do where the run goes on elsewhere by itself",
        )
        .plan()
}

fn stopping(case: &Case<'_>) -> Plan {
    let reason = format!(
        "the box is stopping; {} until it is stopped",
        explain::burns(case)
    );
    let until = later(case.now, case.poll());
    case.draft(VerdictKind::Wait, reason)
        .wait("box stopped", Some(until), "it stops")
        .plan()
}

/// Only its absence from a list that can be read is the end of it; until then it counts as billed.
fn destroying(case: &Case<'_>, id: &str) -> Plan {
    let run = case.run;
    let reason = format!(
        "the provider is destroying the box; it counts as billed until it is gone, {} so far",
        case.spent()
    );
    let retry = run
        .destroy_ordered_at
        .map(|ordered| later(ordered, seconds(run.spec.timing.retry_seconds)));
    let again = retry.is_some_and(|at| case.now >= at);
    let kind = if again {
        VerdictKind::Destroy
    } else {
        VerdictKind::Wait
    };
    let outcome = run.ended.as_ref().map(|ended| ended.outcome);
    let target = case.target(id);
    case.draft(kind, reason)
        .actions(again.then_some(Action::DestroyInstance { target, outcome }))
        .wait(
            "destroy read back",
            Some(later(case.now, case.poll())),
            "it goes",
        )
        .plan()
}
