//! The provider can't be read. That postpones every stop, and never a hard cap.

use chrono::{DateTime, Utc};

use super::case::{Case, later};
use super::work::{Work, work_of};
use super::{caps, explain};
use crate::action::Action;
use crate::plan::{AttentionKind, Plan, VerdictKind};

pub(super) fn decide(case: &Case<'_>, why: &str, since: Option<DateTime<Utc>>) -> Plan {
    let known = case
        .run
        .instance
        .as_ref()
        .map(|instance| instance.id.as_str());
    if let Some(plan) = known.and_then(|id| caps::enforce(case, id)) {
        return plan;
    }
    let next = later(case.now, case.poll());
    let reason = match known {
        Some(_) => format!(
            "the provider can't be read ({why}): nothing is stopped; by the last look {}",
            explain::burns(case)
        ),
        None => format!("the provider can't be read ({why}): nothing is rented"),
    };
    let mut draft = case
        .draft(VerdictKind::Wait, reason)
        .wait("provider", Some(next), why);
    let over = case
        .seen
        .training
        .value()
        .is_some_and(|view| view.state.is_over());
    let unverified = matches!(work_of(case.run, case.seen), Work::Unverified { .. });
    if let (Some(id), true) = (known, over && unverified) {
        draft = draft.action(Action::PushNow {
            target: case.target(id),
        });
    }
    if since.is_some_and(|since| case.age(since) > case.poll() * 3) {
        let message = format!("{} can't be read: {why}", case.run.spec.provider);
        draft = draft.attention(
            AttentionKind::Unseen,
            message,
            "check its key and its status page; `gpurun reap` looks again",
        );
    }
    draft.plan()
}
