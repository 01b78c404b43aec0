use crate::error::Result;
use crate::exit_code::ExitCode;
use crate::observe::{Look, observe};
use crate::shell::{Shell, block_on};
use crate::store::{Listing, StoreError, Unreadable, Which};
use crate::summary::RunSummary;
use crate::ui::format::{self, labelled};
use crate::ui::{Column, Ui, table};
use crate::volumes::{self, VolumeList};
use chrono::Utc;
use gpurun_lifecycle::{Phase, Plan, RunRecord, absorb, decide};
use serde::Serialize;
use std::collections::BTreeMap;

/// Show what every run does, costs and waits for
///
/// Looks at every open run's box first; changes nothing but what the ledger knows.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only this run: a name, or the start of an id
    run: Option<String>,
    /// Closed runs too, all of them; without it only the newest ten
    #[arg(long, short)]
    all: bool,
    /// Don't look: show what the ledger knows
    #[arg(long)]
    offline: bool,
}

#[derive(Default, Serialize)]
struct Document {
    runs: Vec<RunSummary>,
    /// Runs whose record this version can't read; their boxes may still bill.
    unreadable: Vec<Unreadable>,
    /// Disks that outlive boxes, of every account that was asked.
    #[serde(flatten)]
    volumes: VolumeList,
}

const NEWEST_CLOSED: u32 = 10;

impl Args {
    pub(crate) fn run(self, ui: &Ui) -> Result<ExitCode> {
        let Some(shell) = Shell::open_existing(ui)? else {
            return match self.run {
                Some(asked) => Err(StoreError::UnknownRun {
                    asked,
                    nearest: None,
                }
                .into()),
                None => Ok(show(None, ui, Document::default())),
            };
        };
        let Listing { runs, unreadable } = match &self.run {
            Some(asked) => Listing {
                runs: vec![shell.find(asked)?],
                ..Listing::default()
            },
            None => listed(&shell, self.all)?,
        };
        let summaries = if self.offline || runs.iter().all(|run| run.phase == Phase::Ended) {
            let now = Utc::now();
            let latest = shell.ledger.latest_plans()?;
            let plans: BTreeMap<String, Plan> = latest
                .into_iter()
                .map(|plan| (plan.run.clone(), plan))
                .collect();
            runs.iter()
                .map(|run| RunSummary::new(run, None, plans.get(&run.id), now))
                .collect()
        } else {
            block_on(look_at_all(&shell, runs))?
        };
        let volumes = if self.offline || self.run.is_some() {
            VolumeList::default()
        } else {
            block_on(volumes::list(&shell))
        };
        let document = Document {
            runs: summaries,
            unreadable,
            volumes,
        };
        Ok(show(Some(&shell), ui, document))
    }
}

fn listed(shell: &Shell, all: bool) -> Result<Listing> {
    let which = if all {
        Which::All
    } else {
        Which::Recent(NEWEST_CLOSED)
    };
    let listing = shell.ledger.list(which)?;
    for unreadable in &listing.unreadable {
        shell.ui.talk(&format!(
            "  ! run {} can't be read ({}); its box, if any, has the label {}",
            unreadable.id, unreadable.why, unreadable.label
        ));
    }
    Ok(listing)
}

async fn look_at_all(shell: &Shell, runs: Vec<RunRecord>) -> Result<Vec<RunSummary>> {
    let mut summaries = Vec::with_capacity(runs.len());
    for run in runs {
        summaries.push(look_at(shell, run).await?);
    }
    Ok(summaries)
}

/// A look that the ledger keeps, and what the next pass would make of it.
async fn look_at(shell: &Shell, run: RunRecord) -> Result<RunSummary> {
    if run.phase == Phase::Ended {
        return Ok(RunSummary::new(&run, None, None, Utc::now()));
    }
    let Look { observation, .. } = observe(shell, &run).await;
    let run = shell
        .ledger
        .update(&run.id, None, |run| absorb(run, &observation))?;
    let plan = decide(&run, &observation);
    Ok(RunSummary::new(
        &run,
        Some(&observation),
        Some(&plan),
        observation.now,
    ))
}

fn show(shell: Option<&Shell>, ui: &Ui, document: Document) -> ExitCode {
    if ui.json {
        ui.json(&document);
        return ExitCode::Success;
    }
    let (runs, volumes) = (document.runs, document.volumes);
    let show_volumes = || {
        for volume in &volumes.volumes {
            ui.data(&labelled("volume", &volume.line()));
        }
        for unread in &volumes.unread {
            ui.data(&labelled(" !", &format!("unknown, not empty: {unread}")));
        }
    };
    if runs.is_empty() && !document.unreadable.is_empty() {
        return ExitCode::Success;
    }
    if runs.is_empty() {
        show_volumes();
        ui.talk("No runs yet. `gpurun launch --help` shows how to start one; `gpurun launch -n` what it would cost.");
        return ExitCode::Success;
    }
    let ids = runs.iter().map(|run| run.id.as_str());
    let short_ids = shell.and_then(|shell| shell.ledger.short_ids(ids, 3).ok());
    let rows = runs
        .iter()
        .enumerate()
        .map(|(index, run)| {
            let short_id = short_ids.as_ref().and_then(|ids| ids.get(index));
            run.row(short_id.unwrap_or(&run.id))
        })
        .collect();
    ui.data(&table(
        &[
            Column::Text("run"),
            Column::Text("name"),
            Column::Text("state"),
            Column::Text("where"),
            Column::Number("epoch"),
            Column::Number("best"),
            Column::Number("$/h"),
            Column::Number("so far"),
        ],
        rows,
    ));
    for run in &runs {
        if let Some(next) = run.what_is_next() {
            ui.data(&labelled(&format::clip(&run.name, 10), &next));
        }
        for attention in &run.attention {
            ui.data(&labelled(" !", attention));
        }
    }
    show_volumes();
    if let [only] = runs.as_slice() {
        detail(ui, only);
    }
    ExitCode::Success
}

fn detail(ui: &Ui, run: &RunSummary) {
    if let Some(error) = run
        .training
        .as_ref()
        .and_then(|training| training.error.as_ref())
    {
        ui.data(&labelled(
            "error",
            &format!("{}: {}", error.kind, error.message),
        ));
    }
    if let Some(verified) = &run.verified {
        let text = format!(
            "{} ({}), sha256 {}…",
            verified.location,
            verified.milestone,
            verified.sha256.get(..12).unwrap_or(&verified.sha256)
        );
        ui.data(&labelled("verified", &text));
    }
    if let Some(reason) = &run.reason {
        ui.data(&labelled("verdict", reason));
    }
}
