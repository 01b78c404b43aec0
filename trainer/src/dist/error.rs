//! What goes wrong among processes.

use crate::shim::ShimError;

/// Why the processes can't go on together.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DistError {
    /// A process ended, or didn't come.
    #[error("process {rank} of {world} lost the others while {doing}: {reason}")]
    Lost {
        /// Who noticed.
        rank: u32,
        world: u32,
        doing: &'static str,
        reason: String,
    },
    /// The variables that a launcher sets make no sense.
    #[error("{variable}={value} {reason}")]
    Environment {
        variable: &'static str,
        value: String,
        reason: &'static str,
    },
    /// NCCL can't be used.
    #[error("NCCL: {0}")]
    Nccl(String),
    /// A process couldn't be started.
    #[error("a training process could not be started: {0}")]
    Start(String),
}

impl From<DistError> for ShimError {
    fn from(error: DistError) -> Self {
        ShimError::Failed(error.to_string())
    }
}
