//! From a box that runs to a training that runs: each step whose phase isn't reached, in order.

use super::case::{Case, retry_at};
use super::teardown;
use super::{explain, work::work_of};
use crate::action::{Action, RestoredFile, Step, Target};
use crate::plan::{AttentionKind, Plan, VerdictKind};
use crate::run::{Outcome, Phase, StepFailure};

/// The steps that are left on `target`; on a `fresh` box all of them.
pub(super) fn remaining(case: &Case<'_>, target: &Target, fresh: bool) -> Vec<Action> {
    let (run, spec) = (case.run, &case.run.spec);
    let phase = if fresh {
        Phase::Rented
    } else {
        run.phase.max(Phase::Rented)
    };
    let target = || target.clone();
    let mut steps = Vec::new();
    if phase < Phase::Installed {
        steps.push(Action::Install {
            target: target(),
            spec: spec.install.clone(),
        });
    }
    if phase < Phase::Proved {
        steps.push(Action::Prove {
            target: target(),
            spec: spec.prove.clone(),
        });
    }
    if let (true, Some(stage)) = (phase < Phase::Staged, &spec.stage) {
        steps.push(Action::Stage {
            target: target(),
            spec: stage.clone(),
        });
    }
    let Some(launch) = spec.launch.as_ref().filter(|_| phase < Phase::Launched) else {
        return steps;
    };
    let here = target().instance;
    let elsewhere = here.is_none() || run.launched_on != here;
    let restored = if run.launches > 0 && elsewhere {
        restored_files(case, &launch.run_dir)
    } else {
        Vec::new()
    };
    let has_checkpoint = run.launches > 0 && (!elsewhere || !restored.is_empty());
    if !restored.is_empty() {
        steps.push(Action::Restore {
            target: target(),
            files: restored,
        });
    }
    steps.push(Action::Launch {
        target: target(),
        spec: launch.clone(),
        checkpoints: spec.checkpoints.clone(),
        attempt: run.launches + 1,
        resume: has_checkpoint && launch.resume_argv.is_some(),
    });
    steps
}

/// The newest verified checkpoint, to where a resume looks for it.
fn restored_files(case: &Case<'_>, run_dir: &str) -> Vec<RestoredFile> {
    let last = case.run.last_checkpoints.as_ref();
    let verified = last.and_then(|last| last.value.newest_verified.as_ref());
    let file = verified.map(|verified| RestoredFile {
        location: verified.location.clone(),
        sha256: verified.sha256.clone(),
        dest: format!("{}/weights/last.pt", run_dir.trim_end_matches('/')),
    });
    file.into_iter().collect()
}

/// Sets up the running box `id`, or gives it up when a step can't be made to work on it.
pub(super) fn decide(case: &Case<'_>, id: &str) -> Plan {
    let target = case.target(id);
    let adopted = case
        .run
        .instance
        .as_ref()
        .is_some_and(|instance| instance.id == id);
    if !adopted && case.run.launches > 0 {
        // It may be the one that trained: what goes on there is seen before anything is done.
        let why = "a box with our label is there and the ledger doesn't know it";
        return case
            .draft(VerdictKind::SetUp, why)
            .action(Action::Adopt { target })
            .plan();
    }
    if let Some(plan) = beside_another(case, &target, adopted) {
        return plan;
    }
    let fresh = !adopted;
    let steps = remaining(case, &target, fresh);
    let failed = steps.iter().find_map(|step| case.failure(step.step()));
    if let Some(failure) = failed {
        match retry_at(case.run, failure) {
            None => return give_up(case, id, failure),
            Some(at) if case.now < at => {
                let why = format!("could not {}: {}", failure.step.describe(), failure.message);
                return case
                    .draft(
                        VerdictKind::Wait,
                        format!("{why}; tried again at {}", explain::clock(at)),
                    )
                    .wait("next try", Some(at), why)
                    .plan();
            }
            Some(_) => {}
        }
    }
    let adopt = (!adopted).then(|| Action::Adopt {
        target: target.clone(),
    });
    case.draft(VerdictKind::SetUp, explain::set_up(case, &steps))
        .actions(adopt)
        .actions(steps)
        .plan()
}

/// A training lives there that isn't the one to be launched: it is not joined by a second one.
fn beside_another(case: &Case<'_>, target: &Target, adopted: bool) -> Option<Plan> {
    let view = case.seen.training.value()?;
    let next = view.attempt == Some(case.run.launches + 1);
    if !view.state.is_alive() || next || case.run.spec.launch.is_none() {
        return None;
    }
    let target = target.clone();
    if !adopted {
        let why = "a training runs on the box with our label: the ledger takes it in first";
        let draft = case.draft(VerdictKind::SetUp, why);
        return Some(draft.action(Action::Adopt { target }).plan());
    }
    Some(end_earlier(case, target))
}

/// Ends what an earlier launch left running.
pub(super) fn end_earlier(case: &Case<'_>, target: Target) -> Plan {
    let why = "an earlier training still runs on this box".to_owned();
    let outcome = Outcome::Stopped;
    case.draft(VerdictKind::End, why.clone())
        .action(Action::EndTraining {
            target,
            why,
            outcome,
        })
        .plan()
}

/// A box on which no step can succeed is given back; where another one would fail the same way, the run
/// ends too.
fn give_up(case: &Case<'_>, id: &str, failure: &StepFailure) -> Plan {
    let why = format!(
        "could not {} ({} tries): {}",
        failure.step.describe(),
        failure.times,
        failure.message
    );
    let remedy = "`gpurun explain` shows the plan; correct the cause and launch again";
    if !work_of(case.run, case.seen).is_safe() {
        return teardown::unverified(case, id, &why);
    }
    let the_box = matches!(failure.step, Step::Install | Step::Prove);
    let spare = case.run.spec.offers.iter().filter(|offer| {
        let tried = case.run.tried.iter().any(|tried| tried.offer == offer.id);
        let current = case
            .run
            .instance
            .as_ref()
            .and_then(|instance| instance.offer.as_ref());
        !tried && Some(&offer.id) != current
    });
    let outcome = match (the_box, case.run.launches) {
        (true, _) if spare.count() > 0 => None,
        (_, 0) => Some(Outcome::NeverStarted),
        (_, _) => Some(Outcome::Failed),
    };
    let destroy = Action::DestroyInstance {
        target: case.target(id),
        outcome,
    };
    case.draft(
        VerdictKind::Destroy,
        explain::give_back(case, &why, outcome.is_none()),
    )
    .action(destroy)
    .attention(
        AttentionKind::SetUpFailed,
        explain::lost(case, &why),
        remedy,
    )
    .plan()
}
