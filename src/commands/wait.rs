use super::ask;
use crate::drive::Goal;
use crate::error::Result;
use crate::exit_code::ExitCode;
use crate::shell::Shell;
use crate::ui::Ui;

/// Follow a run to its end, and do what is due meanwhile
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A name, or the start of an id
    run: String,
}

impl Args {
    pub(crate) fn run(self, ui: &Ui) -> Result<ExitCode> {
        let shell = Shell::open(ui)?;
        let run = shell.find(&self.run)?;
        ask::reach(&shell, &run.id, Goal::Settled)
    }
}
