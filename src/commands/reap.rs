use crate::error::Result;
use crate::exit_code::ExitCode;
use crate::orphans::{self, Orphans};
use crate::reconcile::{Pass, Watcher, pass};
use crate::shell::{Shell, block_on};
use crate::store::{LockError, Unreadable, Which};
use crate::summary::RunSummary;
use crate::ui::{Ui, format};
use gpurun_lifecycle::{Action, ActionResult};
use serde::Serialize;

/// Do what is due for every run and say what each waits for; made for cron
///
/// Exits with 0 when nothing needs a person, with 8 when something does.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

#[derive(Serialize)]
struct Document {
    runs: Vec<Reaped>,
    unreadable: Vec<Unreadable>,
    orphans: Orphans,
    needs_a_person: bool,
}

#[derive(Serialize)]
struct Reaped {
    #[serde(flatten)]
    run: Seen,
    done: Vec<Done>,
    /// Why nothing was looked at: another gpurun was at work on it.
    skipped: Option<String>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Seen {
    Looked(Box<RunSummary>),
    Skipped { id: String, name: String },
}

#[derive(Serialize)]
struct Done {
    #[serde(flatten)]
    action: Action,
    #[serde(flatten)]
    result: ActionResult,
}

impl Args {
    pub(crate) fn run(self, ui: &Ui) -> Result<ExitCode> {
        let shell = Shell::open(ui)?;
        let document = block_on(reap(&shell))?;
        let needs_a_person = document.needs_a_person;
        if ui.json {
            ui.json(&document);
        }
        Ok(if needs_a_person {
            ExitCode::Attention
        } else {
            ExitCode::Success
        })
    }
}

async fn reap(shell: &Shell) -> Result<Document> {
    let listing = shell.ledger.list(Which::Open)?;
    let mut needs_a_person = !listing.unreadable.is_empty();
    for unreadable in &listing.unreadable {
        say(
            shell,
            &format!("! run {} can't be read: {}", unreadable.id, unreadable.why),
        );
    }
    let mut runs = Vec::new();
    for run in listing.runs {
        let reaped = reap_one(shell, &run.id, &run.name).await?;
        needs_a_person |= match &reaped.run {
            Seen::Looked(summary) => !summary.attention.is_empty(),
            Seen::Skipped { .. } => false,
        };
        runs.push(reaped);
    }
    let orphans = orphans::find(shell).await?;
    needs_a_person |= !orphans.boxes.is_empty() || !orphans.unread.is_empty();
    if !shell.ui.json {
        orphans::show(shell, &orphans);
        if runs.is_empty() && listing.unreadable.is_empty() && orphans.boxes.is_empty() {
            shell.ui.data("nothing to do: no open run, no orphan");
        }
    }
    Ok(Document {
        runs,
        unreadable: listing.unreadable,
        orphans,
        needs_a_person,
    })
}

async fn reap_one(shell: &Shell, id: &str, name: &str) -> Result<Reaped> {
    let lock = match shell.ledger.lock(id) {
        Ok(lock) => lock,
        Err(LockError::Held(holder)) => {
            let why = format!("another gpurun ({holder}) is at work on it");
            say(shell, &format!("{name}: skipped, {why}"));
            return Ok(Reaped {
                run: Seen::Skipped {
                    id: id.to_owned(),
                    name: name.to_owned(),
                },
                done: Vec::new(),
                skipped: Some(why),
            });
        }
        Err(error) => return Err(error.into()),
    };
    let pass = until_it_waits(shell, &lock).await?;
    let (pass, done) = pass;
    let now = pass.look.observation.now;
    let summary = RunSummary::new(
        &pass.run,
        Some(&pass.look.observation),
        Some(&pass.plan),
        now,
    );
    say(
        shell,
        &format!("{name}: {}; {}", summary.state, pass.plan.verdict.reason),
    );
    for (action, result) in &done {
        let what = action.step().describe();
        let how = match result {
            ActionResult::Done { .. } => "done".to_owned(),
            ActionResult::Failed { message, .. } | ActionResult::Unfit { message } => {
                format!("failed: {message}")
            }
            ActionResult::Unclear { message } => format!("unclear: {message}"),
        };
        say(shell, &format!("  {what}: {how}"));
    }
    for wait in &pass.plan.waits {
        let until = wait.until.map_or_else(String::new, |until| {
            format!(" {}", format::relative(until, now))
        });
        say(
            shell,
            &format!("  waits for {}{until}: {}", wait.on, wait.why),
        );
    }
    for attention in &summary.attention {
        say(shell, &format!("  ! {attention}"));
    }
    Ok(Reaped {
        run: Seen::Looked(Box::new(summary)),
        done: done
            .into_iter()
            .map(|(action, result)| Done { action, result })
            .collect(),
        skipped: None,
    })
}

/// A pass may only order what the next one sees done (a destroy, a stop): a few more passes close what
/// can be closed now. Each is a whole look, so this never does more than a later `reap` would.
async fn until_it_waits(
    shell: &Shell,
    lock: &crate::store::RunLock,
) -> Result<(Pass, Vec<(Action, ActionResult)>)> {
    const PASSES: usize = 8;
    let mut all = Vec::new();
    let mut actions = Vec::new();
    for number in 1.. {
        let mut seen = pass(shell, lock, &mut Silent).await?;
        // What a plan asks for at every look is done once.
        let repeats = seen.plan.actions == actions;
        let goes_on = !seen.done.is_empty() && seen.succeeded() && !repeats && number < PASSES;
        actions.clone_from(&seen.plan.actions);
        all.append(&mut seen.done);
        if !goes_on {
            return Ok((seen, all));
        }
    }
    unreachable!("the loop ends by its own count")
}

fn say(shell: &Shell, line: &str) {
    if !shell.ui.json {
        shell.ui.data(line);
    }
}

struct Silent;

impl Watcher for Silent {
    fn begins(&mut self, _action: &Action) {}
    fn ends(&mut self, _action: &Action, _result: &ActionResult) {}
}
