//! One agent a box: a file lock, which the kernel gives back however the agent ends.

use std::fs::{File, TryLockError};
use std::io::{Read, Write};

use gpurun_protocol::agent_spec::AgentSpec;
use gpurun_protocol::heartbeat::ProcessRef;
use serde::{Deserialize, Serialize};

use super::error::AgentError;
use super::layout::Layout;

/// Who holds the lock: the content of `agent.lock`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Holder {
    pub(crate) agent: ProcessRef,
    pub(crate) run_id: String,
    pub(crate) attempt: u32,
}

/// The held lock.
#[derive(Debug)]
pub(crate) struct AgentLock {
    file: File,
}

/// What trying gave.
#[derive(Debug)]
pub(crate) enum Tried {
    Taken(AgentLock),
    /// Who has it; `None` when it hasn't said yet.
    HeldBy(Option<Holder>),
}

impl Holder {
    pub(crate) fn serves(&self, spec: &AgentSpec) -> bool {
        self.run_id == spec.run_id && self.attempt == spec.attempt
    }
}

impl AgentLock {
    pub(crate) fn try_take(layout: &Layout) -> Result<Tried, AgentError> {
        let path = layout.agent_lock();
        let at_path = |error| AgentError::io(&path, error);
        let mut file = File::options()
            .create(true)
            .truncate(false)
            .read(true)
            .write(true)
            .open(&path)
            .map_err(at_path)?;
        match file.try_lock() {
            Ok(()) => Ok(Tried::Taken(AgentLock { file })),
            Err(TryLockError::WouldBlock) => {
                let mut content = String::new();
                file.read_to_string(&mut content).map_err(at_path)?;
                Ok(Tried::HeldBy(serde_json::from_str(&content).ok()))
            }
            Err(TryLockError::Error(error)) => Err(at_path(error)),
        }
    }

    pub(crate) fn sign(&mut self, layout: &Layout, holder: &Holder) -> Result<(), AgentError> {
        let write = |file: &mut File| {
            file.set_len(0)?;
            file.write_all(&serde_json::to_vec(holder)?)
        };
        write(&mut self.file).map_err(|error| AgentError::io(&layout.agent_lock(), error))
    }
}

/// The agent that was the last to hold the lock.
pub(crate) fn last_holder(layout: &Layout) -> Option<Holder> {
    serde_json::from_slice(&std::fs::read(layout.agent_lock()).ok()?).ok()
}
