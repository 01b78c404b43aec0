//! What can be done to a box. Each action holds every id and argument it needs.

use gpurun_pricing::{Gigabytes, HourlyRate, Offer};
use serde::{Deserialize, Serialize};

use crate::run::Outcome;
use crate::setup::{CheckpointSpec, InstallSpec, LaunchSpec, ProveSpec, StageSpec, VolumeSpec};

/// The box meant, by the label that is ours and the id that is the provider's.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Target {
    pub provider: String,
    pub label: String,
    /// `None` only in a plan that starts with [`Action::Rent`]: the box that this very plan creates.
    pub instance: Option<String>,
}

/// One step of a plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "action")]
pub enum Action {
    Rent {
        target: Target,
        offer: Box<Offer>,
        disk: Gigabytes,
        image: Option<String>,
        /// Nothing dearer is rented, disk included, whatever the offer said when it was seen.
        #[serde(default)]
        price_limit: Option<HourlyRate>,
        #[serde(default)]
        volume: Option<VolumeSpec>,
    },
    /// Write the id of a box that carries our label into the ledger.
    Adopt {
        target: Target,
    },
    /// Let the run's key into its box.
    Authorize {
        target: Target,
    },
    Install {
        target: Target,
        spec: InstallSpec,
    },
    Prove {
        target: Target,
        spec: ProveSpec,
    },
    Stage {
        target: Target,
        spec: StageSpec,
    },
    /// Bring verified checkpoints back onto a fresh box, so that the launch after it can resume.
    Restore {
        target: Target,
        files: Vec<RestoredFile>,
    },
    /// `attempt` counts the run's launches from one: the same attempt twice is one training.
    Launch {
        target: Target,
        spec: LaunchSpec,
        checkpoints: CheckpointSpec,
        attempt: u32,
        resume: bool,
    },
    /// One pass of the agent's push, now.
    PushNow {
        target: Target,
    },
    /// Bring here what the box holds ready for the destination.
    Fetch {
        target: Target,
    },
    /// SIGTERM to the training, then its last push. `outcome` is the run's if this is what ends it.
    EndTraining {
        target: Target,
        why: String,
        outcome: Outcome,
    },
    StartInstance {
        target: Target,
    },
    StopInstance {
        target: Target,
    },
    /// With an outcome the run is over once the box is gone; without one it goes on on another box.
    DestroyInstance {
        target: Target,
        outcome: Option<Outcome>,
    },
    /// The account is closed: no box is left.
    Close {
        outcome: Outcome,
    },
}

/// A checkpoint on its way back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RestoredFile {
    /// Where it was pushed to.
    pub location: String,
    pub sha256: String,
    /// Relative to the box's home.
    pub dest: String,
}

/// An action's kind, without its arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Step {
    Rent,
    Adopt,
    Authorize,
    Install,
    Prove,
    Stage,
    Restore,
    Launch,
    PushNow,
    Fetch,
    EndTraining,
    StartInstance,
    StopInstance,
    DestroyInstance,
    Close,
}

impl Action {
    #[must_use]
    pub fn step(&self) -> Step {
        match self {
            Self::Rent { .. } => Step::Rent,
            Self::Adopt { .. } => Step::Adopt,
            Self::Authorize { .. } => Step::Authorize,
            Self::Install { .. } => Step::Install,
            Self::Prove { .. } => Step::Prove,
            Self::Stage { .. } => Step::Stage,
            Self::Restore { .. } => Step::Restore,
            Self::Launch { .. } => Step::Launch,
            Self::PushNow { .. } => Step::PushNow,
            Self::Fetch { .. } => Step::Fetch,
            Self::EndTraining { .. } => Step::EndTraining,
            Self::StartInstance { .. } => Step::StartInstance,
            Self::StopInstance { .. } => Step::StopInstance,
            Self::DestroyInstance { .. } => Step::DestroyInstance,
            Self::Close { .. } => Step::Close,
        }
    }

    /// The box it acts on; `None` for [`Action::Close`].
    #[must_use]
    pub fn target(&self) -> Option<&Target> {
        match self {
            Self::Rent { target, .. }
            | Self::Adopt { target }
            | Self::Authorize { target }
            | Self::Install { target, .. }
            | Self::Prove { target, .. }
            | Self::Stage { target, .. }
            | Self::Restore { target, .. }
            | Self::Launch { target, .. }
            | Self::PushNow { target }
            | Self::Fetch { target }
            | Self::EndTraining { target, .. }
            | Self::StartInstance { target }
            | Self::StopInstance { target }
            | Self::DestroyInstance { target, .. } => Some(target),
            Self::Close { .. } => None,
        }
    }
}

impl Step {
    /// Whether it makes sense only when every step before it in the plan succeeded. Ending a box
    /// never waits for a push in the same plan: a plan that must not lose anything ends after the push.
    #[must_use]
    pub fn needs_earlier_steps(self) -> bool {
        matches!(
            self,
            Self::Install | Self::Prove | Self::Stage | Self::Restore | Self::Launch | Self::Close
        )
    }

    /// The verb phrase for people.
    #[must_use]
    pub fn describe(self) -> &'static str {
        match self {
            Self::Rent => "rent a box",
            Self::Adopt => "adopt the box with our label",
            Self::Authorize => "bring the key to the box",
            Self::Install => "install the engine",
            Self::Prove => "prove the device",
            Self::Stage => "stage the data",
            Self::Restore => "bring the checkpoints back",
            Self::Launch => "launch the training",
            Self::PushNow => "push the checkpoints",
            Self::Fetch => "bring the checkpoints here",
            Self::EndTraining => "end the training",
            Self::StartInstance => "start the box",
            Self::StopInstance => "stop the box",
            Self::DestroyInstance => "destroy the box",
            Self::Close => "close the account",
        }
    }
}
