use super::ask;
use crate::drive::Goal;
use crate::error::Result;
use crate::exit_code::ExitCode;
use crate::shell::Shell;
use crate::ui::Ui;
use gpurun_lifecycle::ask_stop;

/// End the training, keep the disk: checkpoints are pushed and verified first
///
/// A stopped box costs its disk only. Its GPUs are released and nobody reserves them.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A name, or the start of an id
    run: String,
}

impl Args {
    pub(crate) fn run(self, ui: &Ui) -> Result<ExitCode> {
        let shell = Shell::open(ui)?;
        let run = shell.find(&self.run)?;
        ask::ask(&shell, &run, "stop", |run| {
            ask_stop(run, chrono::Utc::now())
        })?;
        ask::reach(&shell, &run.id, Goal::Stopped)
    }
}
