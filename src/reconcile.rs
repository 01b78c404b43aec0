//! The one pass that changes a cloud: observe, decide, record, execute.

use crate::error::{Failure, Result};
use crate::execute;
use crate::exit_code::ExitCode;
use crate::observe::{Look, observe};
use crate::shell::Shell;
use crate::store::{Event, EventKind, GapEnd, RunLock};
use chrono::Utc;
use gpurun_lifecycle::{
    Action, ActionResult, InstanceView, Observation, Phase, Plan, RunRecord, absorb, decide, lint,
};

/// What one pass saw, decided and did.
pub(crate) struct Pass {
    pub(crate) run: RunRecord,
    pub(crate) look: Look,
    pub(crate) plan: Plan,
    pub(crate) done: Vec<(Action, ActionResult)>,
}

impl Pass {
    /// Every action came to its end.
    pub(crate) fn succeeded(&self) -> bool {
        self.done
            .iter()
            .all(|(_, result)| matches!(result, ActionResult::Done { .. }))
    }
}

/// A pause is one observation of how long this person stays away: what the learned policy learns from.
fn remember_gap(shell: &Shell, run: &RunRecord, seen: &Observation) -> Result<()> {
    let gone = |end| shell.ledger.close_gap(&run.id, seen.now, end);
    match seen.instance.value() {
        Some(InstanceView::Stopped { since, .. }) => {
            shell.ledger.open_gap(&run.id, since.unwrap_or(seen.now))?;
        }
        Some(InstanceView::Running { .. }) => gone(GapEnd::Returned)?,
        Some(InstanceView::Absent) if run.phase == Phase::Ended || run.ended.is_some() => {
            gone(GapEnd::Never)?;
        }
        _ => {}
    }
    Ok(())
}

/// Writes down what newly needs a person; `explain` shows it, also when nobody was looking.
fn sound_alarms(shell: &Shell, plan: &Plan) -> Result<()> {
    let before = shell.ledger.decisions(&plan.run, 1)?;
    let known = |kind| {
        let mut attention = before.iter().flat_map(|decision| &decision.plan.attention);
        attention.any(|attention| attention.kind == kind)
    };
    for attention in plan.attention.iter().filter(|new| !known(new.kind)) {
        let event = Event {
            at: plan.at,
            kind: EventKind::Alarm,
            detail: format!("{}; {}", attention.message, attention.remedy),
        };
        shell.ledger.note(&plan.run, &event)?;
    }
    Ok(())
}

/// The last guard before money: a plan that breaks a safety rule is a fault of this program.
fn refuse_unsafe(run: &RunRecord, seen: &Observation, plan: &Plan) -> Result<()> {
    lint(run, seen, plan).map_err(|faults| {
        let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
        Failure::new(
            ExitCode::Failure,
            format!(
                "the plan for {} is unsafe and was not executed: {}",
                run.name,
                faults.join("; ")
            ),
            "please report this with the output of `gpurun explain`; the box is as it was",
        )
    })
}

/// What a person may see of a pass while it goes on.
pub(crate) trait Watcher {
    fn begins(&mut self, action: &Action);
    fn ends(&mut self, action: &Action, result: &ActionResult);
}

/// One pass over one run. The caller holds the run's lock, so the record it reads is the newest.
pub(crate) async fn pass(shell: &Shell, lock: &RunLock, watcher: &mut dyn Watcher) -> Result<Pass> {
    let known = shell.ledger.get(lock.run())?;
    let look = observe(shell, &known).await;
    let seen = &look.observation;
    let mut run = shell
        .ledger
        .update(lock.run(), None, |run| absorb(run, seen))?;
    remember_gap(shell, &run, seen)?;
    let plan = decide(&run, seen);
    refuse_unsafe(&run, seen, &plan)?;
    sound_alarms(shell, &plan)?;
    shell.ledger.record_plan(&plan, seen)?;
    let mut done: Vec<(Action, ActionResult)> = Vec::new();
    let mut failed = false;
    for action in &plan.actions {
        if failed && action.step().needs_earlier_steps() {
            continue;
        }
        let (begun, record) = shell.ledger.begin(&run.id, action, Utc::now())?;
        watcher.begins(action);
        let result = execute::execute(shell, &record, action).await;
        watcher.ends(action, &result);
        run = shell.ledger.finish(&begun, &result, Utc::now())?;
        failed |= !matches!(result, ActionResult::Done { .. });
        done.push((action.clone(), result));
        if matches!(action, Action::Rent { .. }) {
            // Whether it is up yet, the next look tells.
            break;
        }
    }
    Ok(Pass {
        run,
        look,
        plan,
        done,
    })
}
