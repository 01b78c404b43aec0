//! `gpurun agent end`: the training ends, its last files leave the box, and how it ended is written down.

use std::thread;
use std::time::{Duration, Instant};

use gpurun_protocol::agent_spec::AgentSpec;
use gpurun_protocol::exit_report::ExitReport;
use gpurun_protocol::report::BoxReport;

use super::body;
use super::clock;
use super::error::AgentError;
use super::files::write_json;
use super::layout::Layout;
use super::lock::{AgentLock, Tried};
use super::report::report;
use super::request::EndRequest;
use super::spec::read_spec;
use super::start::start;

/// How to end.
#[derive(Debug, Clone)]
pub(crate) struct EndConfig {
    /// For the exit report.
    pub(crate) why: String,
    /// Between SIGTERM and SIGKILL.
    pub(crate) grace_seconds: u32,
    /// How long to wait for the last push after the training is gone.
    pub(crate) push_seconds: u32,
}

/// Ends the training and waits for its agent. A training without an agent gets one for this: the order is on
/// disk before, so nothing is lost when this process is killed.
///
/// The report says what came of it: the last push may still be under way when the time is over, and the agent goes
/// on with it.
///
/// # Errors
/// When the spec or the box's folder can't be used, or the agent doesn't come up.
pub(crate) fn end(layout: &Layout, config: &EndConfig) -> Result<BoxReport, AgentError> {
    const STEP: Duration = Duration::from_millis(100);

    let spec = read_spec(layout)?;
    if has_ended(layout, &spec)? {
        return Ok(report(layout));
    }
    let order = EndRequest {
        run_id: spec.run_id.clone(),
        attempt: spec.attempt,
        why: config.why.clone(),
        grace_seconds: config.grace_seconds,
        at: clock::now(),
    };
    write_json(&layout.end_request(), &order)
        .map_err(|error| AgentError::io(&layout.end_request(), error))?;
    if let Tried::Taken(lock) = AgentLock::try_take(layout)? {
        drop(lock);
        start(layout)?;
    }
    let patience = u64::from(config.grace_seconds) + u64::from(config.push_seconds) + 10;
    let deadline = Instant::now() + Duration::from_secs(patience);
    while Instant::now() < deadline {
        if let Tried::Taken(_) = AgentLock::try_take(layout)? {
            break;
        }
        thread::sleep(STEP);
    }
    Ok(report(layout))
}

/// Whether there is nothing to end: this attempt never ran, or all of it is over.
fn has_ended(layout: &Layout, spec: &AgentSpec) -> Result<bool, AgentError> {
    let found = body::look_around(layout, spec)?;
    let ours = |exit: &ExitReport| exit.run_id == spec.run_id && exit.attempt == spec.attempt;
    let over = found
        .exit
        .is_some_and(|exit| ours(&exit) && exit.push_finished);
    let recorded = found
        .recorded
        .is_some_and(|(record, _)| record.run_id == spec.run_id && record.attempt == spec.attempt);
    let running = matches!(AgentLock::try_take(layout)?, Tried::HeldBy(_));
    Ok(!running && (over || !(recorded || found.marked.is_some())))
}
