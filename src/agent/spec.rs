//! Reading `agent.json`.

use std::fs;
use std::io;

use gpurun_protocol::agent_spec::{AgentSpec, SCHEMA_VERSION};

use super::error::AgentError;
use super::layout::Layout;

/// The box's spec, checked.
///
/// # Errors
/// When there is none, or it can't be run; the message names line and column.
pub(crate) fn read_spec(layout: &Layout) -> Result<AgentSpec, AgentError> {
    let path = layout.spec();
    let bytes = fs::read(&path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => AgentError::NoSpec {
            path: path.display().to_string(),
        },
        _ => AgentError::io(&path, error),
    })?;
    let refuse = |why: String| AgentError::Spec {
        path: path.display().to_string(),
        why,
    };
    let spec: AgentSpec =
        serde_json::from_slice(&bytes).map_err(|error| refuse(error.to_string()))?;
    if spec.schema_version != SCHEMA_VERSION {
        return Err(refuse(format!(
            "its schema_version is {}, this gpurun reads {SCHEMA_VERSION}",
            spec.schema_version
        )));
    }
    if spec.argv.is_empty() {
        return Err(refuse("argv is empty".to_owned()));
    }
    if spec.heartbeat_seconds == 0 {
        return Err(refuse("heartbeat_seconds is 0".to_owned()));
    }
    Ok(spec)
}
