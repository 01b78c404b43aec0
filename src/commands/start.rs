use super::ask;
use super::which_run::WhichRun;
use crate::drive::Goal;
use crate::error::Result;
use crate::exit_code::ExitCode;
use crate::ui::Ui;
use gpurun_lifecycle::ask_start;

/// Go on with a stopped or ended run, from its last checkpoint
///
/// On the stopped box where it is still there, else on a new one that gets the verified checkpoints.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    run: WhichRun,
}

impl Args {
    pub(crate) fn run(self, ui: &Ui) -> Result<ExitCode> {
        let (shell, run) = self.run.open(ui, "start")?;
        ask::ask(&shell, &run, "start", |run| {
            ask_start(run, chrono::Utc::now())
        })?;
        ask::reach(&shell, &run.id, Goal::Launched)
    }
}
