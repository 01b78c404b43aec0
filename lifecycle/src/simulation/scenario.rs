//! What happens in one world.

use chrono::{DateTime, TimeDelta, Utc};

use crate::fixtures::start;
use crate::run::{Intent, RunSpec};

/// How the training would end if nobody touched it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    Completes,
    FailsAfter(u32),
    KilledAfter(u32),
    StallsAfter(u32),
}

/// What doesn't work for a while.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trouble {
    /// The provider's list can't be read; its other calls work.
    ProviderUnreadable,
    BoxUnreachable,
    /// Nothing can be pushed.
    DestinationDown,
    DestroyRefused,
    StopRefused,
    /// The box is made, its reply is lost.
    CreateReplyLost,
    NoCapacity,
    /// No free GPU for a stopped box.
    StartFails,
    /// A restarted box comes up without GPUs.
    ZeroGpus,
    ProofFails,
    /// The agent is dead: nobody pushes by itself.
    AgentDead,
    /// Nobody runs gpurun: the laptop is asleep.
    Asleep,
}

/// A trouble from one second to another after the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Window {
    pub(super) trouble: Trouble,
    pub(super) from: i64,
    pub(super) to: i64,
}

/// A person's word at some second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Wish {
    pub(super) at: i64,
    pub(super) intent: Intent,
    pub(super) force: bool,
}

#[derive(Debug, Clone)]
pub(super) struct Scenario {
    pub(super) spec: RunSpec,
    /// When the person comes back, if they said so.
    pub(super) back_at: Option<i64>,
    pub(super) epochs: u32,
    pub(super) epoch_seconds: i64,
    pub(super) fate: Fate,
    pub(super) windows: Vec<Window>,
    /// The provider takes the box away at these seconds.
    pub(super) vanishes: Vec<i64>,
    pub(super) wishes: Vec<Wish>,
    /// At which of the places before and after an action gpurun is killed, counted through.
    pub(super) kills: Vec<u32>,
    /// How long a new box is missing from the list; never more than the spec's `list_lag_seconds`.
    pub(super) list_lag: i64,
    pub(super) boot_seconds: i64,
}

impl Scenario {
    /// A training that completes, and nothing goes wrong.
    pub(super) fn calm(spec: RunSpec) -> Self {
        Self {
            spec,
            back_at: None,
            epochs: 20,
            epoch_seconds: 300,
            fate: Fate::Completes,
            windows: Vec::new(),
            vanishes: Vec::new(),
            wishes: Vec::new(),
            kills: Vec::new(),
            list_lag: 0,
            boot_seconds: 60,
        }
    }

    pub(super) fn has(&self, trouble: Trouble, now: DateTime<Utc>) -> bool {
        let second = (now - start()).num_seconds();
        self.windows
            .iter()
            .any(|window| window.trouble == trouble && (window.from..window.to).contains(&second))
    }

    /// All the time in which `trouble` holds, overlaps counted twice.
    pub(super) fn time_of(&self, trouble: Trouble) -> TimeDelta {
        let seconds = self
            .windows
            .iter()
            .filter(|window| window.trouble == trouble)
            .map(|window| window.to - window.from);
        TimeDelta::seconds(seconds.sum())
    }
}
