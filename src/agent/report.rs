//! `gpurun agent report`: the evidence, from files and the process table.

use std::io;
use std::path::Path;

use chrono::{DateTime, Utc};
use gpurun_protocol::agent_spec::{AgentSpec, SCHEMA_VERSION};
use gpurun_protocol::exit_report::ExitReport;
use gpurun_protocol::heartbeat::{Disk, Heartbeat};
use gpurun_protocol::manifest::Manifest;
use gpurun_protocol::report::{BoxReport, FileStamp, Liveness};

use super::companions::stderr_tail;
use super::complete::is_complete;
use super::error::AgentError;
use super::files::read_json;
use super::layout::Layout;
use super::lock::last_holder;
use super::milestones::is_same;
use super::progress::{read_history, read_status};
use super::scan::{FileLook, look};
use super::spec::read_spec;
use super::training::TrainingRecord;
use super::{body, clock, disk, process};

/// What is known on this box. What can't be read is listed, not an error: half the evidence is better than none.
pub(crate) fn report(layout: &Layout) -> BoxReport {
    let mut unreadable = Vec::new();
    let spec = match read_spec(layout) {
        Ok(spec) => Some(spec),
        Err(AgentError::NoSpec { .. }) => None,
        Err(error) => {
            unreadable.push(error.to_string());
            None
        }
    };
    let mut report = BoxReport {
        schema_version: SCHEMA_VERSION,
        at: clock::now(),
        run_id: spec.as_ref().map(|spec| spec.run_id.clone()),
        attempt: spec.as_ref().map(|spec| spec.attempt),
        agent: None,
        training: None,
        training_started_at: None,
        heartbeat: None,
        status: None,
        history: None,
        exit: None,
        manifest: None,
        files: Vec::new(),
        last_progress_at: None,
        disk: measured(layout, spec.as_ref(), &mut unreadable),
        stderr_tail: String::new(),
        unreadable: Vec::new(),
    };
    if let Some(spec) = &spec {
        of_attempt(layout, spec, &mut report, &mut unreadable);
    }
    report.unreadable = unreadable;
    report
}

fn of_attempt(
    layout: &Layout,
    spec: &AgentSpec,
    report: &mut BoxReport,
    unreadable: &mut Vec<String>,
) {
    let ours = |run_id: &str, attempt| run_id == spec.run_id && attempt == spec.attempt;
    report.agent = last_holder(layout)
        .filter(|holder| holder.serves(spec))
        .map(|holder| liveness(holder.agent));

    let training = found_training(layout, spec, unreadable);
    report.training_started_at = training.as_ref().map(|record| record.started_at);
    report.stderr_tail = noted(
        &layout.stderr(),
        stderr_tail(
            &layout.stderr(),
            training
                .as_ref()
                .map_or(0, |record| record.output_from.stderr),
        ),
        unreadable,
    );
    report.training = training.map(|record| liveness(record.process));

    let path = layout.heartbeat();
    report.heartbeat = noted(&path, read_json::<Heartbeat>(&path), unreadable)
        .filter(|heartbeat| ours(&heartbeat.run_id, heartbeat.attempt));
    let path = layout.exit();
    report.exit = noted(&path, read_json::<ExitReport>(&path), unreadable)
        .filter(|exit| ours(&exit.run_id, exit.attempt));
    let path = layout.manifest();
    report.manifest = noted(&path, read_json::<Manifest>(&path), unreadable)
        .filter(|manifest| manifest.run_id == spec.run_id);

    let run_dir = layout.resolve(&spec.run_dir);
    let status = run_dir.join("status.json");
    report.status = noted(&status, read_status(&run_dir), unreadable);
    let metrics = run_dir.join("metrics.jsonl");
    report.history = noted(&metrics, read_history(&run_dir), unreadable);
    report.files = noted(
        &run_dir,
        files(&run_dir, report.manifest.as_ref()),
        unreadable,
    );
    report.last_progress_at = last_progress(report);
}

/// The attempt's training as recorded, else as its mark shows it.
fn found_training(
    layout: &Layout,
    spec: &AgentSpec,
    unreadable: &mut Vec<String>,
) -> Option<TrainingRecord> {
    let found = body::look_around(layout, spec)
        .inspect_err(|error| unreadable.push(error.to_string()))
        .ok()?;
    found
        .recorded
        .map(|(record, _)| record)
        .filter(|record| record.run_id == spec.run_id && record.attempt == spec.attempt)
        .or(found.marked)
}

fn liveness(process: gpurun_protocol::heartbeat::ProcessRef) -> Liveness {
    let alive = process::is_alive(&process);
    Liveness { process, alive }
}

/// Seen by the agent, which knows content from rewriting, else by the history's file time; never before the start.
fn last_progress(report: &BoxReport) -> Option<DateTime<Utc>> {
    let history = report
        .files
        .iter()
        .find(|stamp| stamp.file == "metrics.jsonl")
        .map(|stamp| stamp.modified_at);
    let heartbeat = report
        .heartbeat
        .as_ref()
        .and_then(|beat| beat.last_progress_at);
    [report.training_started_at, heartbeat, history]
        .into_iter()
        .flatten()
        .max()
}

fn files(run_dir: &Path, manifest: Option<&Manifest>) -> io::Result<Vec<FileStamp>> {
    let everything = ["*".to_owned()];
    let stamp = |file: FileLook| {
        let relative = file.path.strip_prefix(run_dir).unwrap_or(&file.path);
        let known = manifest.and_then(|manifest| manifest.verified(&file.name));
        FileStamp {
            file: relative.display().to_string(),
            bytes: file.stamp.bytes,
            modified_at: file.stamp.modified,
            complete: is_complete(&file.name, &file.path).unwrap_or(None),
            verified: is_same(known, &file),
        }
    };
    Ok(look(run_dir, &everything)?
        .files
        .into_iter()
        .map(stamp)
        .collect())
}

fn measured(
    layout: &Layout,
    spec: Option<&AgentSpec>,
    unreadable: &mut Vec<String>,
) -> Option<Disk> {
    let limit = spec.and_then(|spec| spec.disk_limit_bytes);
    let disk = disk::measure(&layout.home, limit);
    noted(&layout.home, disk.map(Some), unreadable)
}

fn noted<T: Default>(path: &Path, read: io::Result<T>, unreadable: &mut Vec<String>) -> T {
    read.unwrap_or_else(|error| {
        unreadable.push(format!("{}: {error}", path.display()));
        T::default()
    })
}
