//! `gpurun agent push`: one pass now, beside or without a living agent.

use std::thread;

use gpurun_protocol::exit_report::NotPushed;
use gpurun_protocol::report::BoxReport;
use serde::Serialize;

use super::error::AgentError;
use super::layout::Layout;
use super::milestones::Trigger;
use super::push_pass::{self, PushJob};
use super::report::report;
use super::scan::look;
use super::spec::read_spec;
use super::stability::{QUIET, Stability};
use super::{body, clock};

/// What the pass did, and the evidence after it.
#[derive(Debug, Serialize)]
pub(crate) struct PushReply {
    pub(crate) pushed: Vec<String>,
    pub(crate) not_pushed: Vec<NotPushed>,
    pub(crate) report: BoxReport,
}

/// Pushes everything that is whole and not at the destination. What is being written stays behind and is named.
///
/// # Errors
/// When the spec can't be read or names no destination.
pub(crate) fn push(layout: &Layout) -> Result<PushReply, AgentError> {
    let spec = read_spec(layout)?;
    let push = spec.push.clone().ok_or_else(|| AgentError::Spec {
        path: layout.spec().display().to_string(),
        why: "it names no destination for checkpoints".to_owned(),
    })?;
    let found = body::look_around(layout, &spec)?;
    let alive = found.marked.is_some();
    let record = found.recorded.map(|(record, _)| record).or(found.marked);
    let job = PushJob {
        layout,
        spec: &spec,
        push: &push,
        started_at: record
            .as_ref()
            .map_or_else(clock::now, |record| record.started_at),
        output_from: record.map(|record| record.output_from).unwrap_or_default(),
    };
    let run_dir = layout.resolve(&spec.run_dir);
    let at_run_dir = |error| AgentError::io(&run_dir, error);

    let mut stability = Stability::default();
    let mut seen = look(&run_dir, &push.files).map_err(at_run_dir)?;
    stability.observe(&seen, clock::now());
    if alive {
        // A second look tells what is being written.
        thread::sleep(QUIET.to_std().unwrap_or_default());
        seen = look(&run_dir, &push.files).map_err(at_run_dir)?;
        stability.observe(&seen, clock::now());
    }
    let settled = |name: &str| !alive || stability.settled(name);
    let outcome = push_pass::run(&job, &seen, Trigger::Requested, &settled, &|_| {});
    let why = |(file, why)| NotPushed { file, why };
    Ok(PushReply {
        pushed: outcome.pushed,
        not_pushed: outcome
            .failed
            .into_iter()
            .chain(outcome.unfit)
            .map(why)
            .collect(),
        report: report(layout),
    })
}
