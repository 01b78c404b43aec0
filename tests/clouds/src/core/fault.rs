//! What can be made to go wrong, and for which request.

use serde::{Deserialize, Serialize};

use super::{Operation, Request};

/// One thing that goes wrong. JSON: `{"fault": "drop_after_commit"}`, `{"fault": "latency", "ms": 500}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "fault", rename_all = "snake_case")]
pub enum Fault {
    /// The reply comes late, in real time.
    Latency { ms: u64 },
    /// The connection is cut and nothing was done.
    DropBeforeCommit,
    /// Everything is done and the connection is cut.
    DropAfterCommit,
    /// Nothing is done and the vendor answers a 5xx.
    ErrorBeforeCommit { status: u16 },
    /// Everything is done and the vendor answers a 5xx.
    ErrorAfterCommit { status: u16 },
    /// 429, nothing done.
    TooManyRequests { form: TooMany },
    /// The key has expired.
    AuthExpired,
    /// Done, and 200 without a body.
    EmptyBody,
    /// Done, and 200 with a web page.
    HtmlBody,
    /// Done, and half of the JSON.
    TruncatedBody,
    /// Done, and an answer that says it wasn't: 200 `success: false` where the vendor has such.
    SuccessFalse,
    /// The account shows the new box only after so long.
    ListingLag { seconds: u64 },
    /// Somebody else was faster.
    OfferGone,
    /// What is rented costs so much more than what was shown, percent.
    PriceChange { percent: u32 },
    /// A box that is gone is shown in another way than usual.
    GoneAs {
        /// Which.
        shape: Absence,
    },
    /// The box never comes up.
    StuckLoading,
    /// The host can't start the container.
    BrokenHost,
    /// The host's disk is full before the image is there.
    DiskFullOnPull,
    /// The create fails and leaves a stopped box that costs money.
    FailedCreateLeavesBox,
    /// Two boxes are made, with one label.
    DuplicateLabel,
    /// The box runs and its sshd refuses connections.
    SshRefused,
    /// The box runs and knows no key.
    KeyMissing,
    /// The box has GPUs that say they are available, and die at the first kernel.
    BrokenGpu,
    /// The box has GPUs that its driver can't reach.
    LostGpu,
    /// The box has one GPU fewer than was rented.
    GpuMissing,
    /// A delete is accepted, and the box stays and costs for so long; `None`: for ever.
    DeletePersists { seconds: Option<u64> },
    /// A delete says 200 and `success: false`, and does nothing.
    DestroyRefused,
    /// Someone else takes the GPUs as soon as the box is stopped.
    GpusTakenAfterStop,
    /// A start gives a box without GPUs.
    ZeroGpuResume,
    /// The host vanishes.
    HostDeath,
    /// Somebody bids more.
    Outbid,
    /// The account is empty.
    CreditExhausted,
    /// The owner's contract ends.
    ContractEnd,
}

/// The forms of "too many requests".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TooMany {
    /// Plain text with the threshold.
    Text,
    /// JSON with the text inside.
    Json,
    /// With a `Retry-After` header.
    RetryAfter,
}

/// How a vendor shows what isn't there any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Absence {
    /// 200 and `null`.
    Null,
    /// 200 and `[]`.
    EmptyList,
    /// 404.
    NotFound,
}

/// A fault and the requests it strikes.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Armed {
    /// What goes wrong.
    #[serde(flatten)]
    pub fault: Fault,
    /// Which requests; `None`: those that the fault is about ([`Fault::usual`]).
    #[serde(default)]
    pub on: Option<Operation>,
    /// Only requests whose path holds this text.
    #[serde(default)]
    pub path: Option<String>,
    /// How many requests it strikes; `None`: all from now on.
    #[serde(default = "once")]
    pub count: Option<u32>,
    /// How many requests it lets pass first.
    #[serde(default)]
    pub skip: u32,
}

#[expect(
    clippy::unnecessary_wraps,
    reason = "serde's default of an optional count"
)]
fn once() -> Option<u32> {
    Some(1)
}

impl Armed {
    /// For the next request that the fault is about.
    #[must_use]
    pub fn once(fault: Fault) -> Self {
        Self {
            fault,
            on: None,
            path: None,
            count: Some(1),
            skip: 0,
        }
    }

    /// For every such request from now on.
    #[must_use]
    pub fn always(fault: Fault) -> Self {
        Self {
            count: None,
            ..Self::once(fault)
        }
    }

    /// For requests of one operation only.
    #[must_use]
    pub fn on(mut self, operation: Operation) -> Self {
        self.on = Some(operation);
        self
    }

    fn is_for(&self, operation: Operation, request: &Request) -> bool {
        let usual = self.fault.usual();
        let about = match self.on {
            Some(on) => on == operation,
            None => usual.is_empty() || usual.contains(&operation),
        };
        about
            && self
                .path
                .as_ref()
                .is_none_or(|part| request.path.contains(part.as_str()))
    }
}

impl From<Fault> for Armed {
    fn from(fault: Fault) -> Self {
        Self::once(fault)
    }
}

impl Fault {
    /// The requests a fault strikes when none are named; empty: any.
    #[must_use]
    pub fn usual(&self) -> &'static [Operation] {
        match self {
            Self::DropBeforeCommit
            | Self::DropAfterCommit
            | Self::ErrorBeforeCommit { .. }
            | Self::ErrorAfterCommit { .. }
            | Self::ListingLag { .. }
            | Self::OfferGone
            | Self::PriceChange { .. }
            | Self::StuckLoading
            | Self::BrokenHost
            | Self::DiskFullOnPull
            | Self::FailedCreateLeavesBox
            | Self::DuplicateLabel
            | Self::SshRefused
            | Self::KeyMissing
            | Self::BrokenGpu
            | Self::LostGpu
            | Self::GpuMissing => &[Operation::Create],
            Self::DeletePersists { .. } | Self::DestroyRefused => &[Operation::Destroy],
            Self::GpusTakenAfterStop => &[Operation::Stop],
            Self::ZeroGpuResume => &[Operation::Start],
            Self::GoneAs { .. } => &[Operation::Show],
            Self::HostDeath | Self::Outbid | Self::ContractEnd => {
                &[Operation::Show, Operation::List]
            }
            Self::EmptyBody | Self::HtmlBody | Self::TruncatedBody => &[Operation::List],
            Self::SuccessFalse => &[Operation::List, Operation::Destroy],
            Self::Latency { .. }
            | Self::TooManyRequests { .. }
            | Self::AuthExpired
            | Self::CreditExhausted => &[],
        }
    }
}

/// All faults that are armed.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Arms(Vec<Armed>);

impl Arms {
    /// One more.
    pub fn arm(&mut self, armed: Armed) {
        self.0.push(armed);
    }

    /// None any more.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// The faults for this request, each counted down.
    pub(crate) fn strike(&mut self, operation: Operation, request: &Request) -> Vec<Fault> {
        let mut struck = Vec::new();
        for armed in &mut self.0 {
            if !armed.is_for(operation, request) {
                continue;
            }
            if armed.skip > 0 {
                armed.skip -= 1;
                continue;
            }
            struck.push(armed.fault.clone());
            armed.count = armed.count.map(|left| left.saturating_sub(1));
        }
        self.0.retain(|armed| armed.count != Some(0));
        struck
    }
}
