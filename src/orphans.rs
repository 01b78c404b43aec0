//! Boxes with our label that the ledger doesn't know, or whose run it has closed.

use crate::error::Result;
use crate::observe;
use crate::shell::Shell;
use crate::ui::format;
use crate::volumes::{self, VolumeRow};
use chrono::{DateTime, Utc};
use futures_util::future::join;
use gpurun_lifecycle::Phase;
use gpurun_pricing::HourlyRate;
use gpurun_providers::Provider;
use serde::Serialize;
use std::collections::BTreeSet;

#[derive(Debug, Default, Serialize)]
pub(crate) struct Orphans {
    pub(crate) boxes: Vec<Orphan>,
    /// Providers whose list couldn't be read, and why: what they hold is unknown.
    pub(crate) unread: Vec<String>,
    /// Volumes that no box has mounted and no open run means to: they bill too, and may be kept on purpose.
    pub(crate) idle_volumes: Vec<VolumeRow>,
}

#[derive(Debug, Serialize)]
pub(crate) struct Orphan {
    pub(crate) provider: String,
    pub(crate) id: String,
    pub(crate) label: String,
    pub(crate) state: String,
    pub(crate) created_at: Option<DateTime<Utc>>,
    #[serde(serialize_with = "format::rate_or_null")]
    pub(crate) burn_per_hour: Option<HourlyRate>,
    /// The closed or unreadable run it belongs to; `None`: another ledger's, or lost.
    pub(crate) run: Option<String>,
    /// The same in words.
    pub(crate) whose: String,
}

/// Looks at every provider's list.
pub(crate) async fn find(shell: &Shell) -> Result<Orphans> {
    let listing = shell.ledger.list(crate::store::Which::Open)?;
    let open: BTreeSet<String> = listing
        .runs
        .iter()
        .filter(|run| run.phase != Phase::Ended)
        .map(|run| run.label.clone())
        .collect();
    // Nobody but a person can end the box of a run that can't be read.
    let unreadable: BTreeSet<&str> = listing
        .unreadable
        .iter()
        .map(|run| run.label.as_str())
        .collect();
    let ours: BTreeSet<String> = shell.ledger.labels()?.into_iter().collect();
    let providers: Vec<&dyn Provider> = shell.providers.iter().map(AsRef::as_ref).collect();
    let (listed, volumes) = join(observe::boxes(&providers), volumes::list(shell)).await;
    let (boxes, unread) = listed;
    let idle = volumes.idle(&listing.runs);
    let unread = unread.iter().map(ToString::to_string).chain(idle.unread);
    let mut orphans = Orphans {
        unread: unread.collect(),
        idle_volumes: idle.volumes,
        ..Orphans::default()
    };
    for (provider, one) in boxes {
        let Some(label) = one.label.filter(|label| label.starts_with("gpurun-")) else {
            continue;
        };
        if open.contains(&label) {
            continue;
        }
        let run = ours
            .contains(&label)
            .then(|| label.trim_start_matches("gpurun-").to_owned());
        let whose = match &run {
            Some(run) if unreadable.contains(label.as_str()) => {
                format!("run {run} can't be read")
            }
            Some(run) => format!("run {run} is closed"),
            None => "no run of this ledger".to_owned(),
        };
        orphans.boxes.push(Orphan {
            provider: provider.to_owned(),
            id: one.id,
            run,
            whose,
            label,
            state: one.state.to_string(),
            created_at: one.created_at,
            burn_per_hour: one.price,
        });
    }
    Ok(orphans)
}

/// One line for each, with what it burns.
pub(crate) fn show(shell: &Shell, orphans: &Orphans) {
    for orphan in &orphans.boxes {
        let burn = orphan
            .burn_per_hour
            .map_or_else(|| "an unknown rate".to_owned(), |rate| rate.to_string());
        shell.ui.data(&format!(
            "! ORPHAN {} {} ({}), {} at {burn}: {}; `gpurun orphans --destroy {}` ends it",
            orphan.provider, orphan.id, orphan.label, orphan.state, orphan.whose, orphan.id
        ));
    }
    for volume in &orphans.idle_volumes {
        shell.ui.data(&format!(
            "idle volume {}; `gpurun volumes delete {} --provider {}` ends it",
            volume.line(),
            volume.id,
            volume.provider
        ));
    }
    for unread in &orphans.unread {
        shell.ui.data(&format!("! unknown, not empty: {unread}"));
    }
}
