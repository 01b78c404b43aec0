//! What happens to a box whose work is over: the table.
//!
//! | weights verified | the run | default |
//! |---|---|---|
//! | no | any | push; run on within grace; then stop, never destroy, and alarm; where there is no stop, run on until a cap |
//! | yes | completed, no gap declared | destroy |
//! | yes | completed, gap declared | compare |
//! | yes | failed, killed, stalled, stopped | stop, and destroy when the disk has cost what it is worth; compare for a declared gap |
//!
//! A provider without a stop destroys where the table says stop. The job's policy overrides the last three rows.

use chrono::{DateTime, Utc};
use gpurun_pricing::break_even::{self, StopCosts};
use gpurun_pricing::{Action as Fate, Gap as PricedGap, Hours};

use super::case::{Case, later};
use super::explain;
use super::work::{Work, grace_until, work_of};
use crate::action::Action;
use crate::observation::AgentState;
use crate::plan::{AttentionKind, Plan, VerdictKind};
use crate::run::{Gap, Intent, Outcome, TeardownPolicy};

/// The box runs and the training is over.
pub(super) fn rest(case: &Case<'_>, id: &str) -> Plan {
    let outcome = case
        .run
        .ended
        .as_ref()
        .map_or(Outcome::Failed, |ended| ended.outcome);
    let work = work_of(case.run, case.seen);
    if !work.is_safe() {
        return unverified(case, id, explain::outcome(outcome));
    }
    let (fate, why) = fate(case, outcome, case.now, false);
    let reason = format!("{}; {}; {why}", explain::outcome(outcome), work.text());
    let target = case.target(id);
    let plan = match fate {
        Fate::Stop { .. } if case.can_stop() => case
            .draft(VerdictKind::Stop, reason)
            .action(Action::StopInstance { target }),
        Fate::Stop { .. } | Fate::Destroy => {
            let destroy = Action::DestroyInstance {
                target,
                outcome: Some(outcome),
            };
            case.draft(VerdictKind::Destroy, reason).action(destroy)
        }
        Fate::Keep => {
            let burning = format!("the box is idle and {}", explain::burns(case));
            case.draft(VerdictKind::Keep, reason).attention(
                AttentionKind::Burning,
                burning,
                "`gpurun stop` or `gpurun destroy` ends that",
            )
        }
    };
    notice_end(case, plan, outcome).plan()
}

fn notice_end(
    case: &Case<'_>,
    draft: super::draft::Draft,
    outcome: Outcome,
) -> super::draft::Draft {
    match outcome {
        Outcome::Failed | Outcome::Killed => {
            let message = explain::end(case, outcome);
            let remedy = "`gpurun logs` shows its last words; `gpurun start` goes on from the last checkpoint";
            draft.attention(AttentionKind::TrainingEnded, message, remedy)
        }
        _ => draft,
    }
}

/// By which rule a safe box goes, and its sum. A box that was `stopped` at `since` has been waiting from then on.
pub(super) fn fate(
    case: &Case<'_>,
    outcome: Outcome,
    since: DateTime<Utc>,
    stopped: bool,
) -> (Fate, String) {
    let run = case.run;
    let declared = match &run.gap {
        Gap::Declared { back_at } if *back_at > case.now => {
            Some(Hours::from_time_delta(*back_at - since))
        }
        _ => None,
    };
    match run.spec.stop.policy {
        TeardownPolicy::Keep => (Fate::Keep, "the job's policy is keep".to_owned()),
        TeardownPolicy::Destroy => (Fate::Destroy, "the job's policy is destroy".to_owned()),
        TeardownPolicy::SkiRental => priced(case, PricedGap::Unknown),
        TeardownPolicy::Learned => match &run.gap {
            Gap::History { gaps, trust } => priced(
                case,
                PricedGap::History {
                    gaps,
                    trust: *trust,
                },
            ),
            Gap::Unknown | Gap::Declared { .. } => priced(case, PricedGap::Unknown),
        },
        TeardownPolicy::Default | TeardownPolicy::BreakEven => match declared {
            Some(gap) => priced(case, PricedGap::Declared(gap)),
            None if outcome == Outcome::Completed && !stopped => {
                (Fate::Destroy, "nothing is left on it to pay for".to_owned())
            }
            None => priced(case, PricedGap::Unknown),
        },
    }
}

fn priced(case: &Case<'_>, gap: PricedGap<'_>) -> (Fate, String) {
    let spec = &case.run.spec;
    let Some(card) = case.run.rate_card() else {
        return (Fate::Destroy, "no price is known".to_owned());
    };
    let costs = StopCosts::new(card, spec.disk, &spec.rebuild);
    let verdict = break_even::decide(&costs, &spec.restart_odds, gap);
    (verdict.action, verdict.reason)
}

/// Work that isn't proven to be off the box holds it back for the grace period; after that it is stopped, which
/// keeps the work, and never destroyed.
pub(super) fn unverified(case: &Case<'_>, id: &str, why: &str) -> Plan {
    let work = work_of(case.run, case.seen);
    let target = case.target(id);
    let push = Action::PushNow {
        target: target.clone(),
    };
    let Some(until) = grace_until(case.run) else {
        let reason = format!(
            "{why}; {}: pushed again; {}",
            work.text(),
            explain::burns(case)
        );
        return case
            .draft(VerdictKind::Push, reason)
            .action(push)
            .attention(AttentionKind::Unverified, work.text(), rescue_remedy())
            .plan();
    };
    if case.now < until && agent_is_pushing(case) {
        let reason = format!(
            "{why}; {}: its agent is pushing, {}",
            work.text(),
            explain::burns(case)
        );
        let next = later(case.now, case.poll()).min(until);
        return case
            .draft(VerdictKind::Wait, reason)
            .wait("push verified", Some(next), work.text())
            .plan();
    }
    if case.now < until {
        let reason = format!(
            "{why}; {}: pushed again, grace until {}",
            work.text(),
            explain::clock(until)
        );
        return case
            .draft(VerdictKind::Push, reason.clone())
            .action(push)
            .wait("push verified", Some(until), work.text())
            .attention(
                AttentionKind::Unverified,
                work.text(),
                "`gpurun push` tries at once; check the destination",
            )
            .plan();
    }
    if case.can_stop() {
        let reason = format!(
            "{why}; {}; grace is over: stopped, which keeps the disk",
            work.text()
        );
        return case
            .draft(VerdictKind::Stop, reason)
            .action(push)
            .action(Action::StopInstance { target })
            .attention(AttentionKind::Unverified, work.text(), rescue_remedy())
            .plan();
    }
    let reason = format!(
        "{why}; {}; there is no stop here: kept until a cap, {}",
        work.text(),
        explain::burns(case)
    );
    case.draft(VerdictKind::Keep, reason.clone())
        .action(push)
        .attention(AttentionKind::Burning, reason, rescue_remedy())
        .plan()
}

/// The last push after a training's end is under way, nothing has gone wrong with it yet, and it doesn't wait for us.
fn agent_is_pushing(case: &Case<'_>) -> bool {
    let training = case.seen.training.value();
    let alive = training.is_some_and(|view| view.agent == AgentState::Alive);
    let checkpoints = case.seen.checkpoints.value();
    alive && checkpoints.is_some_and(|view| view.last_error.is_none() && view.to_fetch.is_empty())
}

pub(super) fn rescue_remedy() -> &'static str {
    "`gpurun pull` fetches it; `gpurun destroy --force` gives it up"
}

/// No training will come on this box.
pub(super) fn failed(case: &Case<'_>, id: &str, why: &str) -> Plan {
    if !work_of(case.run, case.seen).is_safe() {
        return unverified(case, id, why);
    }
    let destroy = Action::DestroyInstance {
        target: case.target(id),
        outcome: Some(Outcome::Failed),
    };
    case.draft(VerdictKind::Destroy, why)
        .action(destroy)
        .attention(
            AttentionKind::SetUpFailed,
            why,
            "`gpurun logs` shows what the box said",
        )
        .plan()
}

/// The person said stop or destroy, and the box runs: the training ends first, its checkpoints leave, then the box.
pub(super) fn wished(case: &Case<'_>, id: &str) -> Plan {
    let run = case.run;
    let work = work_of(run, case.seen);
    let target = case.target(id);
    let destroys = run.intent == Intent::Destroy;
    let (verb, outcome) = if destroys {
        ("destroy", Outcome::Abandoned)
    } else {
        ("stop", Outcome::Stopped)
    };
    let outcome = if run.launches == 0 {
        Outcome::NeverStarted
    } else {
        outcome
    };
    let grace_over = grace_until(case.run).is_some_and(|until| case.now >= until);
    if destroys && run.force {
        return end_box(case, target, outcome, &work, "you said destroy --force");
    }
    if may_train(case) && !(run.end_ordered.is_some() && grace_over) {
        let why = format!("you said {verb}");
        let reason =
            format!("{why}: the training ends first, then its last checkpoint leaves the box");
        return case
            .draft(VerdictKind::End, reason)
            .action(Action::EndTraining {
                target,
                why,
                outcome,
            })
            .plan();
    }
    if !work.is_safe() && !grace_over {
        return unverified(case, id, &format!("you said {verb}"));
    }
    if destroys || (!case.can_stop() && work.is_safe()) {
        return end_box(case, target, outcome, &work, &format!("you said {verb}"));
    }
    if !work.is_safe() {
        return unverified(case, id, &format!("you said {verb}"));
    }
    let reason = format!(
        "you said stop; {}; {}",
        work.text(),
        explain::stop_saves(case)
    );
    case.draft(VerdictKind::Stop, reason)
        .action(Action::StopInstance { target })
        .plan()
}

/// Destroys, and says what goes with it.
pub(super) fn end_box(
    case: &Case<'_>,
    target: crate::action::Target,
    outcome: Outcome,
    work: &Work,
    why: &str,
) -> Plan {
    let destroy = Action::DestroyInstance {
        target,
        outcome: Some(outcome),
    };
    let draft = case
        .draft(VerdictKind::Destroy, format!("{why}; {}", work.text()))
        .action(destroy);
    if work.is_safe() {
        return draft.plan();
    }
    draft
        .attention(
            AttentionKind::Lost,
            format!("lost with the box: {}", work.text()),
            "nothing brings it back",
        )
        .plan()
}

/// A training may be alive on the box, as far as anybody knows.
fn may_train(case: &Case<'_>) -> bool {
    match case.seen.training.value() {
        Some(view) => view.state.is_alive(),
        None => case.run.launches > 0 && case.run.ended.is_none(),
    }
}
