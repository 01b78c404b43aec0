//! From the box's own report to the checkpoints on it and off it. Pure.

use crate::agent::is_wanted;
use gpurun_lifecycle::{CheckpointSpec, CheckpointView, FileStamp, Verified};
use gpurun_protocol::manifest::{Manifest, Milestone};
use gpurun_protocol::report::BoxReport;

/// Which checkpoints are on the box, and which of them are proven to be off it.
pub(super) fn view(
    spec: &CheckpointSpec,
    report: &BoxReport,
    to_fetch: Vec<String>,
) -> CheckpointView {
    let wanted = |name: &str| is_wanted(&spec.files, name);
    let on_box = report
        .files
        .iter()
        .filter(|file| file.complete == Some(true) && wanted(&file.file));
    let newest_on_box = on_box
        .clone()
        .max_by_key(|file| file.modified_at)
        .map(|file| FileStamp {
            name: file.file.clone(),
            sha256: None,
            bytes: file.bytes,
            modified_at: file.modified_at,
        });
    let pending: Vec<String> = on_box
        .filter(|file| !file.verified)
        .map(|file| file.file.clone())
        .collect();
    CheckpointView {
        all_verified: pending.is_empty(),
        newest_on_box,
        newest_verified: report.manifest.as_ref().and_then(newest_verified),
        pending,
        to_fetch,
        last_error: report
            .heartbeat
            .as_ref()
            .and_then(|heartbeat| heartbeat.push.last_error.as_ref())
            .map(|error| format!("{}: {}", error.file, error.message)),
    }
}

fn is_checkpoint(file: &str) -> bool {
    file.ends_with(".pt") || file.ends_with(".safetensors")
}

fn newest_verified(manifest: &Manifest) -> Option<Verified> {
    let (file, content) = manifest
        .files
        .iter()
        .filter(|entry| is_checkpoint(&entry.file))
        .filter_map(|entry| Some((&entry.file, manifest.verified(&entry.file)?)))
        // Of files written together the last one is what a training goes on from.
        .max_by_key(|(file, content)| (content.modified_at, file.as_str()))?;
    Some(Verified {
        file: file.clone(),
        sha256: content.sha256.clone(),
        bytes: content.bytes,
        epoch: content.epoch,
        milestone: match content.milestone {
            Milestone::FirstBest => "first-best",
            Milestone::Best => "best",
            Milestone::Epoch => "epoch",
            Milestone::Interval => "timer",
            Milestone::End => "end",
            Milestone::Requested => "requested",
            Milestone::Companion => "companion",
        }
        .to_owned(),
        location: format!("{}/{file}", manifest.location.trim_end_matches('/')),
        verified_at: content.verified_at?,
    })
}
