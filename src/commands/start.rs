use super::ask;
use crate::drive::Goal;
use crate::error::Result;
use crate::exit_code::ExitCode;
use crate::shell::Shell;
use crate::ui::Ui;
use gpurun_lifecycle::ask_start;

/// Go on with a stopped or ended run, from its last checkpoint
///
/// On the stopped box where it is still there, else on a new one that gets the verified checkpoints.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A name, or the start of an id
    run: String,
}

impl Args {
    pub(crate) fn run(self, ui: &Ui) -> Result<ExitCode> {
        let shell = Shell::open(ui)?;
        let run = shell.find(&self.run)?;
        ask::ask(&shell, &run, "start", |run| {
            ask_start(run, chrono::Utc::now())
        })?;
        ask::reach(&shell, &run.id, Goal::Launched)
    }
}
