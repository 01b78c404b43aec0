//! The box is stopped: its disk costs money, its GPUs are somebody else's.

use gpurun_pricing::{Action as Fate, BilledState};

use super::case::{Case, retry_at};
use super::teardown::{end_box, fate, rescue_remedy};
use super::work::{Work, grace_until, work_of};
use super::{caps, explain};
use crate::action::{Action, Step};
use crate::plan::{AttentionKind, Plan, VerdictKind};
use crate::run::{Gap, Intent, Outcome};

pub(super) fn decide(case: &Case<'_>, id: &str) -> Plan {
    let run = case.run;
    if let Some(plan) = caps::enforce(case, id) {
        return plan;
    }
    let work = work_of(run, case.seen);
    let goes_on = run.intent == Intent::Run && run.ended.is_none() && run.end_ordered.is_none();
    if goes_on && (run.launches == 0 || case.may_relaunch()) {
        return start(case, id, &work);
    }
    if run.intent == Intent::Destroy {
        return wished(case, id, &work);
    }
    wait(case, id, &work)
}

fn start(case: &Case<'_>, id: &str, work: &Work) -> Plan {
    let target = case.target(id);
    let Some(failure) = case.failure(Step::StartInstance) else {
        let reason = format!(
            "the box is stopped and the run goes on: started, {}",
            explain::running_rate(case)
        );
        return case
            .draft(VerdictKind::Start, reason)
            .action(Action::StartInstance { target })
            .plan();
    };
    let why = format!("the stopped box doesn't start: {}", failure.message);
    match retry_at(case.run, failure) {
        Some(at) if case.now < at => case
            .draft(
                VerdictKind::Wait,
                format!("{why}; tried again at {}", explain::clock(at)),
            )
            .wait("provider", Some(at), why)
            .plan(),
        Some(_) => case
            .draft(VerdictKind::Start, why)
            .action(Action::StartInstance { target })
            .plan(),
        // The disk is safe, the GPUs are not.
        None if work.is_safe() && case.may_relaunch() => {
            let reason = explain::give_back(case, &why, true);
            case.draft(VerdictKind::Destroy, reason)
                .action(Action::DestroyInstance {
                    target,
                    outcome: None,
                })
                .attention(
                    AttentionKind::NoCapacity,
                    why,
                    "nothing to do: it goes on elsewhere from the pushed checkpoints",
                )
                .plan()
        }
        None => {
            let mut plan = wait(case, id, work);
            plan.attention.push(crate::plan::Attention {
                kind: AttentionKind::NoCapacity,
                message: why,
                remedy: "`gpurun start` tries again; `gpurun destroy` and `gpurun start` rebuild elsewhere".to_owned(),
            });
            plan
        }
    }
}

fn wished(case: &Case<'_>, id: &str, work: &Work) -> Plan {
    let run = case.run;
    let outcome = run
        .ended
        .as_ref()
        .map_or(Outcome::Abandoned, |ended| ended.outcome);
    let until = grace_until(run).unwrap_or(case.now);
    if work.is_safe() || run.force || case.now >= until {
        return end_box(case, case.target(id), outcome, work, "you said destroy");
    }
    let reason = format!(
        "you said destroy; {}: kept until {}",
        work.text(),
        explain::clock(until)
    );
    case.draft(VerdictKind::Keep, reason)
        .wait("grace", Some(until), work.text())
        .attention(
            AttentionKind::Unverified,
            work.text(),
            "`gpurun start` lets it push; `gpurun destroy --force` gives it up",
        )
        .plan()
}

/// Kept for a return, or ended when it has cost what it is worth.
fn wait(case: &Case<'_>, id: &str, work: &Work) -> Plan {
    let run = case.run;
    let outcome = run
        .ended
        .as_ref()
        .map_or(Outcome::Stopped, |ended| ended.outcome);
    let account = run
        .accounts
        .last()
        .and_then(|account| account.intervals.last());
    let since = account
        .filter(|interval| interval.state == BilledState::Stopped)
        .map_or(case.now, |interval| interval.from);
    let stopped_for = case.hours_since(since);
    let so_far = explain::stopped_so_far(case, stopped_for);
    if !work.is_safe() {
        return case
            .draft(
                VerdictKind::Keep,
                format!("{so_far}; never destroyed by itself: {}", work.text()),
            )
            .attention(
                AttentionKind::Unverified,
                format!("{}; {so_far}", work.text()),
                rescue_remedy(),
            )
            .plan();
    }
    let (fate, why) = fate(case, outcome, since, true);
    let target = case.target(id);
    let due = match fate {
        Fate::Stop { .. } if is_awaited(case) => false,
        // For a gap too short to stop for, a box that is stopped already stays so.
        Fate::Keep => false,
        fate => fate.destroy_is_due(stopped_for),
    };
    if due {
        let saved = explain::stop_saved(case, stopped_for);
        let destroy = Action::DestroyInstance {
            target,
            outcome: Some(outcome),
        };
        return case
            .draft(
                VerdictKind::Destroy,
                format!("{so_far}; {why}: destroyed; {saved}"),
            )
            .action(destroy)
            .plan();
    }
    let until = match (fate, &run.gap) {
        (Fate::Stop { .. }, Gap::Declared { back_at }) if is_awaited(case) => Some(*back_at),
        (
            Fate::Stop {
                destroy_after: Some(after),
            },
            _,
        ) => Some(super::case::later(since, after.to_time_delta())),
        _ => None,
    };
    let draft = case.draft(VerdictKind::Keep, format!("{so_far}; {why}"));
    match until {
        Some(until) => draft.wait("break-even", Some(until), why).plan(),
        None => draft
            .attention(
                AttentionKind::Burning,
                format!("{so_far}, and nothing ends that by itself"),
                "`gpurun destroy`",
            )
            .plan(),
    }
}

/// The person said when they come back, and by which rule that counts.
fn is_awaited(case: &Case<'_>) -> bool {
    use crate::run::TeardownPolicy::{BreakEven, Default};
    let by_gap = matches!(case.run.spec.stop.policy, Default | BreakEven);
    by_gap && matches!(case.run.gap, Gap::Declared { back_at } if back_at > case.now)
}
