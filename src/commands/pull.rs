use super::push::push;
use super::which_run::WhichRun;
use crate::error::{Failure, Result};
use crate::exit_code::ExitCode;
use crate::shell::{Shell, block_on};
use crate::sink;
use crate::ui::{Ui, format};
use gpurun_lifecycle::{Phase, RunRecord};
use serde::Serialize;
use std::path::PathBuf;

/// Get a run's weights and metrics into a directory here, each file verified by its hash
///
/// A box that still runs pushes what is newest first.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    run: WhichRun,
    /// Where to; a folder of the run's name is made when it isn't given
    directory: Option<PathBuf>,
}

#[derive(Serialize)]
struct Document {
    run: String,
    directory: PathBuf,
    files: Vec<sink::Pulled>,
}

impl Args {
    pub(crate) fn run(self, ui: &Ui) -> Result<ExitCode> {
        let (shell, run) = self.run.open(ui, "pull")?;
        if run.phase == Phase::Launched && run.instance.is_some() {
            refresh(&shell, &run);
        }
        let directory = self
            .directory
            .clone()
            .unwrap_or_else(|| PathBuf::from(&run.name));
        let pulled = shell
            .sink(&run)
            .and_then(|source| sink::pull(source.as_ref(), &directory));
        let files = pulled.map_err(|error| {
            Failure::new(
                ExitCode::Failure,
                format!("the checkpoints of {} can't be pulled: {error}", run.name),
                "`gpurun status` shows what is verified; `gpurun push` tries again while the box is there",
            )
        })?;
        if ui.json {
            ui.json(&Document {
                run: run.id,
                directory,
                files,
            });
            return Ok(ExitCode::Success);
        }
        for file in &files {
            ui.data(&format!(
                "{}  {}  sha256 {}…",
                directory.join(&file.name).display(),
                format::bytes(file.bytes),
                file.sha256.get(..12).unwrap_or(&file.sha256)
            ));
        }
        Ok(ExitCode::Success)
    }
}

/// A box that doesn't answer is no reason to withhold what is safe already.
fn refresh(shell: &Shell, run: &RunRecord) {
    if let Err(failure) = block_on(push(shell, run)) {
        shell.ui.talk(&format!(
            "  ! {}; pulling what was pushed before",
            failure.report
        ));
    }
}
