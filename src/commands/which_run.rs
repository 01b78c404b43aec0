//! The argument most verbs share: which run is meant.

use crate::error::{Failure, Result};
use crate::exit_code::ExitCode;
use crate::shell::Shell;
use crate::store::Which;
use crate::ui::Ui;
use gpurun_lifecycle::RunRecord;

#[derive(Debug, clap::Args)]
pub(super) struct WhichRun {
    /// Which run: its name, or the start of its id; left out, the open runs are named
    #[arg(value_name = "RUN")]
    run: Option<String>,
}

impl WhichRun {
    /// Opens the ledger and finds the run.
    ///
    /// # Errors
    /// [`ExitCode::NotFound`] where there is none; [`ExitCode::Usage`], with the line to type, where none
    /// was named.
    pub(super) fn open(&self, ui: &Ui, verb: &str) -> Result<(Shell, RunRecord)> {
        let Some(shell) = Shell::open_existing(ui)? else {
            let message = match &self.run {
                Some(asked) => {
                    format!("there is no run `{asked}`: no run was ever launched from here")
                }
                None => "there is no run yet".to_owned(),
            };
            let help = "`gpurun launch` starts one; `gpurun launch -n` shows what it would cost";
            return Err(Failure::new(ExitCode::NotFound, message, help));
        };
        match &self.run {
            Some(asked) => {
                let run = shell.find(asked)?;
                Ok((shell, run))
            }
            None => Err(none_named(&shell, verb)?),
        }
    }
}

/// The line to type next, from the runs there are.
fn none_named(shell: &Shell, verb: &str) -> Result<Failure> {
    let open = shell.ledger.list(Which::Open)?.runs;
    let newest_closed = shell.ledger.list(Which::Recent(1))?.runs.pop();
    let help = match (open.as_slice(), newest_closed) {
        ([], None) => "there is none yet: `gpurun launch` starts one".to_owned(),
        ([], Some(closed)) => format!(
            "none is open; the newest was {}: gpurun {verb} {}",
            closed.name, closed.id
        ),
        ([only], _) => format!("one is open: gpurun {verb} {}", only.name),
        ([newest, ..], _) => {
            let names: Vec<&str> = open.iter().map(|run| run.name.as_str()).collect();
            let names = names.join(", ");
            format!("open are {names}; such as: gpurun {verb} {}", newest.name)
        }
    };
    let message = format!("gpurun {verb}: which run?");
    Ok(Failure::new(ExitCode::Usage, message, help))
}
