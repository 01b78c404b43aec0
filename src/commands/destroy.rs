use super::ask;
use super::patience::Patience;
use super::which_run::WhichRun;
use crate::drive::Goal;
use crate::error::{Failure, Result};
use crate::exit_code::ExitCode;
use crate::ui::Ui;
use gpurun_lifecycle::{Phase, RunRecord, ask_destroy};

/// End the training and the box, once its checkpoints are verified off it
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    run: WhichRun,
    #[command(flatten)]
    patience: Patience,
    /// Don't wait for checkpoints that are not verified: they are lost
    #[arg(long)]
    force: bool,
    /// Don't ask
    #[arg(long, short)]
    yes: bool,
}

impl Args {
    pub(crate) fn run(self, ui: &Ui) -> Result<ExitCode> {
        let (shell, run) = self.run.open(ui, "destroy")?;
        ui.talk(&format!(
            " destroy {}: {}",
            run.name,
            what_is_safe(&run, self.force)
        ));
        let question = format!(" destroy {}?", run.name);
        if self.force && !self.yes && !ui.confirm(&question) {
            return Err(Failure::new(
                ExitCode::Declined,
                "nothing was destroyed",
                "--yes answers the question that --force asks",
            ));
        }
        ask::ask(&shell, &run, "destroy", |run| {
            ask_destroy(run, self.force, chrono::Utc::now());
        })?;
        ask::reach(&shell, &run.id, Goal::Destroyed, self.patience.time())
    }
}

fn what_is_safe(run: &RunRecord, force: bool) -> String {
    if run.phase == Phase::Ended {
        return "it is closed, nothing is billed".to_owned();
    }
    if run.launches == 0 {
        return "nothing was trained on it yet".to_owned();
    }
    let verified = run
        .last_checkpoints
        .as_ref()
        .and_then(|last| last.value.newest_verified.as_ref());
    match verified {
        Some(verified) => format!("{} is verified off the box", verified.location),
        None if force => "no checkpoint is verified off the box; what is on it is lost".to_owned(),
        None => "no checkpoint is verified off the box yet; it is pushed first".to_owned(),
    }
}
