use super::ask;
use super::patience::Patience;
use super::which_run::WhichRun;
use crate::drive::Goal;
use crate::error::Result;
use crate::exit_code::ExitCode;
use crate::ui::Ui;
use gpurun_lifecycle::ask_stop;

/// End the training, keep the disk: checkpoints are pushed and verified first
///
/// A stopped box costs its disk only. Its GPUs are released and nobody reserves them.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    run: WhichRun,
    #[command(flatten)]
    patience: Patience,
}

impl Args {
    pub(crate) fn run(self, ui: &Ui) -> Result<ExitCode> {
        let (shell, run) = self.run.open(ui, "stop")?;
        ask::ask(&shell, &run, "stop", |run| {
            ask_stop(run, chrono::Utc::now())
        })?;
        ask::reach(&shell, &run.id, Goal::Stopped, self.patience.time())
    }
}
