use chrono::{DateTime, Utc};
use serde::Serialize;

/// Where a rented box is in its life.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "phase")]
pub enum Phase {
    /// Being made or started.
    Booting {
        /// When it will run; `None`: never.
        ready_at: Option<DateTime<Utc>>,
    },
    /// Up.
    Running,
    /// Its container won't start; the text is what the host says.
    Broken {
        /// The host's words.
        message: String,
    },
    /// Off, its disk kept.
    Stopped {
        /// Who did it.
        why: Why,
    },
    /// Asked to start, and waiting for GPUs that someone else has.
    Waiting,
    /// Its host doesn't answer any more.
    Lost,
    /// Asked to end, still there.
    Ending {
        /// When it will be gone; `None`: never.
        gone_at: Option<DateTime<Utc>>,
        /// Whether it costs money until then.
        billed: bool,
    },
    /// No more.
    Gone,
}

/// Why a box is stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// Its renter stopped it.
    Asked,
    /// Someone bid more.
    Outbid,
    /// The account is empty.
    Credit,
    /// The owner's contract ended.
    ContractEnd,
}

impl Phase {
    /// Whether the box exists and isn't on its way out.
    #[must_use]
    pub fn is_alive(&self) -> bool {
        !matches!(self, Self::Ending { .. } | Self::Gone)
    }

    /// Whether it holds GPUs that nobody else can rent.
    #[must_use]
    pub fn holds_gpus(&self) -> bool {
        matches!(
            self,
            Self::Booting { .. } | Self::Running | Self::Broken { .. } | Self::Lost
        )
    }
}
