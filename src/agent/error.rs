//! What the agent's verbs can fail with.

use std::io;
use std::path::Path;

/// Why a verb of the agent did nothing, or not all.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AgentError {
    #[error("{path}: {source}")]
    Io { path: String, source: io::Error },
    #[error("{path} is not there: nothing says what to run")]
    NoSpec { path: String },
    #[error("{path} can't be run: {why}")]
    Spec { path: String, why: String },
    #[error("another agent lives on this box: {holder}")]
    Held { holder: String },
    #[error("attempt {attempt} of run {run_id} still runs as process {pid}")]
    OtherTraining {
        run_id: String,
        attempt: u32,
        pid: u32,
    },
    #[error("the agent did not come up: {why}")]
    NotUp { why: String },
}

impl AgentError {
    pub(crate) fn io(path: &Path, source: io::Error) -> AgentError {
        AgentError::Io {
            path: path.display().to_string(),
            source,
        }
    }

    /// One thing to do about it.
    pub(crate) fn remedy(&self) -> &'static str {
        match self {
            AgentError::Io { .. } => "look at the box's disk: is it full, or read-only?",
            AgentError::NoSpec { .. } => "launch a training on this box first",
            AgentError::Spec { .. } => "write it again with the gpurun that made the box",
            AgentError::Held { .. } | AgentError::OtherTraining { .. } => {
                "end it first: gpurun agent end"
            }
            AgentError::NotUp { .. } => "read gpurun/agent.log in the box's home",
        }
    }
}
