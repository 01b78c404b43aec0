use crate::error::{Failure, Result};
use crate::execute;
use crate::exit_code::ExitCode;
use crate::orphans::{self, Orphan, Orphans};
use crate::shell::{Shell, block_on};
use crate::ui::Ui;
use gpurun_lifecycle::{ActionResult, Target};
use serde::Serialize;

/// List boxes with gpurun's label that no open run answers for
///
/// They bill until they are destroyed. A provider that can't be read is named, never taken for empty.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Destroy this one; its id as listed
    #[arg(long, value_name = "ID")]
    destroy: Option<String>,
    /// Don't ask
    #[arg(long, short)]
    yes: bool,
}

#[derive(Serialize)]
struct Document<'a> {
    #[serde(flatten)]
    orphans: &'a Orphans,
    destroyed: Option<&'a str>,
}

impl Args {
    pub(crate) fn run(self, ui: &Ui) -> Result<ExitCode> {
        let shell = Shell::open(ui)?;
        let mut found = block_on(orphans::find(&shell))?;
        let destroyed = match &self.destroy {
            None => None,
            Some(id) => {
                destroy(&shell, &found, id, self.yes)?;
                found = block_on(orphans::find(&shell))?;
                still_there(&found, id)?;
                Some(id.as_str())
            }
        };
        if ui.json {
            let orphans = &found;
            ui.json(&Document { orphans, destroyed });
        } else {
            orphans::show(&shell, &found);
            if let Some(id) = destroyed {
                ui.data(&format!(
                    "{id} is destroyed: its provider no longer lists it"
                ));
            } else if found.boxes.is_empty() && found.unread.is_empty() {
                ui.data("no orphans: every box with gpurun's label belongs to an open run");
            }
        }
        let clean = found.boxes.is_empty() && found.unread.is_empty();
        Ok(if clean {
            ExitCode::Success
        } else {
            ExitCode::Attention
        })
    }
}

fn destroy(shell: &Shell, found: &Orphans, id: &str, yes: bool) -> Result<()> {
    let Some(orphan) = found.boxes.iter().find(|orphan| orphan.id == id) else {
        return Err(Failure::new(
            ExitCode::NotFound,
            format!("{id} is not an orphan"),
            "`gpurun orphans` lists them; a run's own box ends with `gpurun destroy RUN`",
        ));
    };
    let question = format!(" destroy {} with all that is on it?", orphan.id);
    if !yes && !shell.ui.confirm(&question) {
        return Err(Failure::new(
            ExitCode::Declined,
            "nothing was destroyed",
            "--yes answers the question",
        ));
    }
    match block_on(execute::destroy_box(shell, &target(orphan))) {
        ActionResult::Done { .. } => Ok(()),
        ActionResult::Failed { message, .. }
        | ActionResult::Unfit { message }
        | ActionResult::Unclear { message } => Err(Failure::new(
            ExitCode::Provider,
            format!("{id} is not destroyed: {message}"),
            "it still bills; run this again, or end it on the provider's own page",
        )),
    }
}

fn target(orphan: &Orphan) -> Target {
    Target {
        provider: orphan.provider.clone(),
        label: orphan.label.clone(),
        instance: Some(orphan.id.clone()),
    }
}

/// "Accepted" proves nothing: only a list without it does.
fn still_there(found: &Orphans, id: &str) -> Result<()> {
    if found.boxes.iter().any(|orphan| orphan.id == id) || !found.unread.is_empty() {
        return Err(Failure::new(
            ExitCode::Provider,
            format!("the destroy of {id} was accepted, and isn't proven yet"),
            "run `gpurun orphans` again in a minute",
        ));
    }
    Ok(())
}
