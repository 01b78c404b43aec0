//! What `start`, `stop`, `destroy` and `wait` share: the wish goes into the ledger, then passes follow.

use crate::drive::{End, Goal, drive};
use crate::error::{Failure, Result};
use crate::exit_code::ExitCode;
use crate::reconcile::Pass;
use crate::shell::{Shell, block_on};
use crate::sink;
use crate::store::{Event, EventKind};
use crate::summary::RunSummary;
use crate::ui::Ui;
use crate::ui::format::{self, labelled};
use chrono::Utc;
use gpurun_lifecycle::{Outcome, RunRecord};
use serde::Serialize;
use std::time::Duration;

/// Writes down what the person wants now.
pub(super) fn ask(
    shell: &Shell,
    run: &RunRecord,
    wish: &str,
    change: impl FnOnce(&mut RunRecord),
) -> Result<()> {
    let event = Event {
        at: Utc::now(),
        kind: EventKind::Intent,
        detail: wish.to_owned(),
    };
    shell.ledger.update(&run.id, Some(&event), change)?;
    Ok(())
}

/// Passes until the goal is reached, then says how things stand.
pub(super) fn reach(
    shell: &Shell,
    run: &str,
    goal: Goal,
    patience: Option<Duration>,
) -> Result<ExitCode> {
    match block_on(drive(shell, run, goal, patience))? {
        End::Reached(pass) => Ok(report(shell, &pass, goal)),
        End::NotYet(pass) => {
            report(shell, &pass, goal);
            shell.ui.talk(&format!(
                " Not done yet. It stays wanted: `gpurun reap`, by hand or by cron, goes on; `gpurun status {run}` shows how far it is."
            ));
            Ok(ExitCode::Attention)
        }
        End::Interrupted => interrupted(
            &shell.ui,
            run,
            &format!(
                "It goes on without you: `gpurun status {run}`. `gpurun reap`, by hand or by cron, does what is due."
            ),
        ),
    }
}

/// The end by Ctrl-C: a line for a person, a document for a program.
pub(super) fn interrupted(ui: &Ui, run: &str, what_now: &str) -> Result<ExitCode> {
    if ui.json {
        let message = format!("{run} was left by Ctrl-C");
        return Err(Failure::new(ExitCode::Interrupted, message, what_now));
    }
    ui.talk(&format!(" {what_now}"));
    Ok(ExitCode::Interrupted)
}

#[derive(Serialize)]
struct Document {
    run: RunSummary,
}

/// Weights, metrics, bill, verdict: what a run has come to.
pub(super) fn report(shell: &Shell, pass: &Pass, goal: Goal) -> ExitCode {
    let run = &pass.run;
    let now = Utc::now();
    let code = match goal {
        Goal::Launched | Goal::Settled => exit_code(run),
        Goal::Stopped | Goal::Destroyed => ExitCode::Success,
    };
    let summary = RunSummary::new(run, Some(&pass.look.observation), Some(&pass.plan), now);
    if shell.ui.json {
        shell.ui.json(&Document { run: summary });
        return code;
    }
    let ui = &shell.ui;
    ui.data(&labelled(
        "run",
        &format!("{} ({})", run.name, summary.state),
    ));
    if let Some(training) = &summary.training {
        if let Some(error) = &training.error {
            ui.data(&labelled(
                "error",
                &format!("{}: {}", error.kind, error.message),
            ));
        }
        if let Some(best) = &training.best {
            let epochs = training
                .epoch
                .zip(training.total_epochs)
                .map_or_else(String::new, |(epoch, total)| {
                    format!(" after epoch {epoch} of {total}")
                });
            let name = best.name.trim_start_matches("metrics/");
            ui.data(&labelled(
                "metrics",
                &format!("{name} {:.3}{epochs}", best.value),
            ));
        }
    }
    if let Some((location, bytes)) = weights(shell, run, &summary) {
        let size = format::bytes(bytes);
        ui.data(&labelled(
            "weights",
            &format!("{location} ({size}, verified by hash)"),
        ));
    }
    for line in bill(run, now) {
        ui.data(&line);
    }
    ui.data(&labelled("verdict", &pass.plan.verdict.reason));
    for attention in &summary.attention {
        ui.data(&labelled("needs you", attention));
    }
    code
}

/// The best weights off the box, or else the newest.
fn weights(shell: &Shell, run: &RunRecord, summary: &RunSummary) -> Option<(String, u64)> {
    let best = shell
        .sink(run)
        .ok()
        .and_then(|sink| sink::best_weights(sink.as_ref()));
    let newest = summary.verified.as_ref();
    best.or_else(|| newest.map(|verified| (verified.location.clone(), verified.bytes)))
}

/// The bill, state by state, as a pocket calculator does it.
pub(super) fn bill(run: &RunRecord, now: chrono::DateTime<Utc>) -> Vec<String> {
    let mut lines = Vec::new();
    for cost in run.costs(now) {
        for line in &cost.lines {
            let state = format!("{:?}", line.state).to_lowercase();
            lines.push(format!(
                " {:<10} {state} {} s x {} / 3600 = {}",
                "bill",
                line.billed.num_seconds(),
                line.rate,
                line.amount
            ));
        }
    }
    lines.push(format!(
        " {:<10} {} in all, {} now",
        "bill",
        run.spent(now),
        run.burn(now)
    ));
    lines
}

/// What the process says of a run that has ended.
fn exit_code(run: &RunRecord) -> ExitCode {
    match run.ended.as_ref().map(|ended| ended.outcome) {
        None
        | Some(Outcome::Completed | Outcome::Stopped | Outcome::Abandoned | Outcome::LeaseOver) => {
            ExitCode::Success
        }
        Some(Outcome::NeverStarted) => ExitCode::Box,
        Some(
            Outcome::Failed
            | Outcome::Killed
            | Outcome::Stalled
            | Outcome::Capped
            | Outcome::Vanished,
        ) => ExitCode::Training,
    }
}
