//! The plan: what is done next, and why, with nothing left to choose.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::action::Action;

/// The answer to one observation of one run. `--dry-run` prints this very value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// [`crate::RunRecord`]'s id.
    pub run: String,
    pub at: DateTime<Utc>,
    pub verdict: Verdict,
    /// In order. A step whose [`needs_earlier_steps`](crate::Step::needs_earlier_steps) holds
    /// is skipped when an earlier one failed; the others go on.
    pub actions: Vec<Action>,
    /// What it waits on; the earliest `until` is the next time worth looking.
    pub waits: Vec<Wait>,
    /// What a person should know or do.
    pub attention: Vec<Attention>,
}

/// The decision in one word and one line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    pub kind: VerdictKind,
    /// One line, checkable with a pocket calculator.
    pub reason: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum VerdictKind {
    /// The box is right as it is.
    Keep,
    SetUp,
    Push,
    /// End the training first; what happens to the box is decided when that is seen.
    End,
    Stop,
    Start,
    Destroy,
    Close,
    /// Something must be seen first.
    Wait,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wait {
    /// For example `box running`, `destroy read back`, `provider's list`.
    pub on: String,
    pub until: Option<DateTime<Utc>>,
    pub why: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attention {
    pub kind: AttentionKind,
    pub message: String,
    pub remedy: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AttentionKind {
    /// Checkpoints aren't verified off the box.
    Unverified,
    /// Checkpoints were given up.
    Lost,
    /// Provider or box couldn't be read for long.
    Unseen,
    /// The agent is silent while the training lives.
    AgentSilent,
    TrainingEnded,
    Capped,
    /// More boxes than one, or one that isn't ours to end.
    Boxes,
    Vanished,
    NoCapacity,
    SetUpFailed,
    /// The provider doesn't do what it was told.
    Refused,
    /// A box bills and nothing ends it by itself.
    Burning,
}
