//! The box runs: who wants what of it?

use super::case::{Case, later};
use super::{caps, explain, set_up, teardown, training};
use crate::action::Action;
use crate::plan::{AttentionKind, Plan, VerdictKind};
use crate::run::{Intent, Outcome, Phase, TeardownPolicy};

pub(super) fn decide(case: &Case<'_>, id: &str, zero_gpus: bool) -> Plan {
    let run = case.run;
    if let Some(plan) = caps::enforce(case, id) {
        return plan;
    }
    if run.intent != Intent::Run {
        return teardown::wished(case, id);
    }
    if zero_gpus && run.phase < Phase::Launched {
        return without_gpus(case, id);
    }
    if run.ended.is_some() {
        return training::over(case, id);
    }
    if run.phase >= Phase::Launched {
        return training::decide(case, id);
    }
    match run.ready_at {
        Some(ready_at) if run.spec.launch.is_none() => leased(case, id, ready_at),
        _ => set_up::decide(case, id),
    }
}

/// A restart that found no GPU bills for nothing.
fn without_gpus(case: &Case<'_>, id: &str) -> Plan {
    let why = "the box came up without GPUs";
    if !super::work_of(case.run, case.seen).is_safe() {
        return teardown::unverified(case, id, why);
    }
    let goes_on = case.run.launches == 0 || case.may_relaunch();
    let outcome = (!goes_on).then_some(Outcome::Vanished);
    case.draft(VerdictKind::Destroy, explain::give_back(case, why, goes_on))
        .action(Action::DestroyInstance {
            target: case.target(id),
            outcome,
        })
        .attention(
            AttentionKind::NoCapacity,
            explain::lost(case, why),
            "nothing to do where the run goes on elsewhere by itself",
        )
        .plan()
}

/// A box without a training, under its lease.
fn leased(case: &Case<'_>, id: &str, ready_at: chrono::DateTime<chrono::Utc>) -> Plan {
    let until = later(ready_at, case.run.spec.stop.lease.to_time_delta());
    let reason = explain::lease(case, ready_at, until);
    if case.now < until {
        return case
            .draft(VerdictKind::Keep, reason.clone())
            .wait("lease", Some(until), reason)
            .plan();
    }
    if case.run.spec.stop.policy == TeardownPolicy::Keep {
        return case
            .draft(VerdictKind::Keep, reason.clone())
            .attention(AttentionKind::Burning, reason, "`gpurun destroy` ends it")
            .plan();
    }
    let target = case.target(id);
    case.draft(VerdictKind::Destroy, reason)
        .action(Action::DestroyInstance {
            target,
            outcome: Some(Outcome::LeaseOver),
        })
        .plan()
}
