//! Making and writing the exit report.

use std::fs;

use chrono::{DateTime, Utc};
use gpurun_protocol::agent_spec::{AgentSpec, SCHEMA_VERSION};
use gpurun_protocol::exit_report::{End, ExitReport};

use super::clock;
use super::error::AgentError;
use super::files::{write_atomically, write_json};
use super::layout::Layout;
use super::training::TrainingRecord;

/// A report before anything was done about the end.
pub(crate) fn of(
    spec: &AgentSpec,
    training: Option<&TrainingRecord>,
    end: End,
    ended_at: DateTime<Utc>,
) -> ExitReport {
    ExitReport {
        schema_version: SCHEMA_VERSION,
        run_id: spec.run_id.clone(),
        attempt: spec.attempt,
        written_at: ended_at,
        training: training.map(|record| record.process.clone()),
        started_at: training.map(|record| record.started_at),
        ended_at,
        end,
        requested: None,
        strays: 0,
        out_of_memory_kills: None,
        push_finished: false,
        not_pushed: Vec::new(),
    }
}

/// Keeps room on the disk for an exit report.
pub(crate) fn reserve_room(layout: &Layout) {
    // Without it only a full disk loses the report.
    let _ = write_atomically(&layout.reserve(), &[b'\n'; 64 << 10]);
}

/// Writes the report; on a full disk into the room kept for it.
pub(crate) fn write(layout: &Layout, exit: &ExitReport) -> Result<(), AgentError> {
    let exit = ExitReport {
        written_at: clock::now(),
        ..exit.clone()
    };
    let path = layout.exit();
    write_json(&path, &exit)
        .or_else(|_| fs::remove_file(layout.reserve()).and_then(|()| write_json(&path, &exit)))
        .map_err(|error| AgentError::io(&path, error))
}
