use super::which_run::WhichRun;
use crate::drive::lock;
use crate::error::{Failure, Result};
use crate::execute::execute;
use crate::exit_code::ExitCode;
use crate::observe::observe;
use crate::shell::{Shell, block_on};
use crate::summary::RunSummary;
use crate::ui::Ui;
use chrono::Utc;
use gpurun_lifecycle::{Action, ActionResult, Observation, RunRecord, Target, absorb, decide};
use serde::Serialize;

/// Push a run's checkpoints off its box now, and verify them
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    run: WhichRun,
}

#[derive(Serialize)]
struct Document {
    run: RunSummary,
}

impl Args {
    pub(crate) fn run(self, ui: &Ui) -> Result<ExitCode> {
        let (shell, run) = self.run.open(ui, "push")?;
        let (run, seen) = block_on(push(&shell, &run))?;
        let plan = decide(&run, &seen);
        let summary = RunSummary::new(&run, Some(&seen), Some(&plan), seen.now);
        if ui.json {
            ui.json(&Document { run: summary });
        } else {
            match &summary.verified {
                Some(verified) => {
                    ui.data(&format!("{} is verified off the box", verified.location))
                }
                None => ui.data("the box has no checkpoint yet"),
            }
        }
        Ok(ExitCode::Success)
    }
}

/// One push pass on the box, recorded as every other action; returns the run as it is known then, and the look.
pub(super) async fn push(shell: &Shell, run: &RunRecord) -> Result<(RunRecord, Observation)> {
    let Some(instance) = &run.instance else {
        return Err(Failure::new(
            ExitCode::Box,
            format!("{} has no box to push from", run.name),
            format!(
                "what was pushed before is in {}/{}",
                run.spec.checkpoints.to, run.name
            ),
        ));
    };
    let action = Action::PushNow {
        target: Target {
            provider: run.spec.provider.clone(),
            label: run.label.clone(),
            instance: Some(instance.id.clone()),
        },
    };
    let _lock = lock(shell, &run.id).await?;
    let (begun, record) = shell.ledger.begin(&run.id, &action, Utc::now())?;
    let result = execute(shell, &record, &action).await;
    shell.ledger.finish(&begun, &result, Utc::now())?;
    match result {
        ActionResult::Done { .. } => {
            let seen = observe(shell, &record).await.observation;
            let run = shell
                .ledger
                .update(&run.id, None, |run| absorb(run, &seen))?;
            Ok((run, seen))
        }
        ActionResult::Failed { message, .. }
        | ActionResult::Unfit { message }
        | ActionResult::Unclear { message } => Err(Failure::new(
            ExitCode::Box,
            format!("the push failed: {message}"),
            "the agent on the box tries again by itself; `gpurun status` shows what is verified",
        )),
    }
}
