use super::ask;
use super::which_run::WhichRun;
use crate::drive::Goal;
use crate::error::Result;
use crate::exit_code::ExitCode;
use crate::ui::Ui;

/// Follow a run to its end, and do what is due meanwhile
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    run: WhichRun,
}

impl Args {
    pub(crate) fn run(self, ui: &Ui) -> Result<ExitCode> {
        let (shell, run) = self.run.open(ui, "wait")?;
        ask::reach(&shell, &run.id, Goal::Settled, None)
    }
}
