//! What the ledger knows about one run. The shell stores it and hands it back; only
//! [`crate::bookkeeping`] and the verbs change it.

use chrono::{DateTime, Utc};
use gpurun_pricing::break_even::{PastGap, RebuildTerms, RestartOdds, Trust};
use gpurun_pricing::{Gigabytes, HourlyRate, Hours, Money, Offer, RateCard, StateInterval};
use serde::{Deserialize, Serialize};

use crate::action::Step;
use crate::observation::{CheckpointView, TrainingView};
use crate::setup::{CheckpointSpec, InstallSpec, LaunchSpec, ProveSpec, StageSpec, VolumeSpec};

/// One run, from the wish to the closed account.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    pub id: String,
    pub name: String,
    /// Unique at the provider, `gpurun-<id>`: what finds the box again after a lost reply.
    pub label: String,
    pub created_at: DateTime<Utc>,
    pub intent: Intent,
    /// When the person last said so.
    pub asked_at: DateTime<Utc>,
    pub phase: Phase,
    pub spec: RunSpec,
    /// The box, once the provider named it.
    pub instance: Option<InstanceRef>,
    /// The box before, proven gone.
    pub lost_at: Option<DateTime<Utc>>,
    /// A create call that was sent and whose outcome isn't known yet.
    pub rent_pending_since: Option<DateTime<Utc>>,
    /// What was paid for, one account per box, the newest last.
    pub accounts: Vec<Account>,
    /// What boxes cost that one order made too many.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub spares: Vec<Account>,
    /// Offers that were tried and didn't become a working box.
    pub tried: Vec<TriedOffer>,
    /// Steps that failed on this box since they last succeeded.
    pub failures: Vec<StepFailure>,
    /// Trainings started, counting resumed ones. Above zero, the next launch resumes.
    pub launches: u32,
    pub launched_at: Option<DateTime<Utc>>,
    /// The box of the newest launch: on another one its files have to be brought back first.
    pub launched_on: Option<String>,
    /// When a box without a training became usable; its lease counts from here.
    pub ready_at: Option<DateTime<Utc>>,
    /// Restarts and rebuilds nobody asked for; `start` sets it back to zero.
    pub relaunches: u32,
    /// The person said `start`, and no launch has followed yet.
    pub start_asked: bool,
    /// The training was told to end, when, and what the run's outcome is if that ends it.
    pub end_ordered: Option<Ended>,
    pub stop_ordered_at: Option<DateTime<Utc>>,
    pub destroy_ordered_at: Option<DateTime<Utc>>,
    /// The run's outcome once that box is gone; `None`: it goes on on another one.
    pub destroy_outcome: Option<Outcome>,
    /// When the provider accepted the newest stop or destroy: what it bills until, if it is seen to have obeyed.
    pub accepted_at: Option<DateTime<Utc>>,
    /// The training is over, and how.
    pub ended: Option<Ended>,
    /// The person said: destroy even if checkpoints are lost.
    pub force: bool,
    pub gap: Gap,
    pub last_training: Option<Dated<TrainingView>>,
    pub last_checkpoints: Option<Dated<CheckpointView>>,
}

impl RunRecord {
    /// A run that is wished for and has cost nothing yet.
    #[must_use]
    pub fn new(id: &str, name: &str, spec: RunSpec, gap: Gap, now: DateTime<Utc>) -> Self {
        Self {
            id: id.to_owned(),
            name: name.to_owned(),
            label: format!("gpurun-{id}"),
            created_at: now,
            intent: Intent::Run,
            asked_at: now,
            phase: Phase::Requested,
            spec,
            instance: None,
            lost_at: None,
            rent_pending_since: None,
            accounts: Vec::new(),
            spares: Vec::new(),
            tried: Vec::new(),
            failures: Vec::new(),
            launches: 0,
            launched_at: None,
            launched_on: None,
            ready_at: None,
            relaunches: 0,
            start_asked: false,
            end_ordered: None,
            stop_ordered_at: None,
            destroy_ordered_at: None,
            destroy_outcome: None,
            accepted_at: None,
            ended: None,
            force: false,
            gap,
            last_training: None,
            last_checkpoints: None,
        }
    }
}

/// What the person wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Intent {
    /// Go on until the training ends; then the arithmetic decides about the box.
    Run,
    /// End the training, keep the disk.
    Stop,
    /// End the training, keep nothing on the box.
    Destroy,
}

/// How far the run has come. Each step is done when its phase is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    Requested,
    Rented,
    Installed,
    Proved,
    Staged,
    Launched,
    /// Closed: no box, no more spending.
    Ended,
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    Completed,
    /// The training said so, or left with a non-zero exit code.
    Failed,
    /// A signal, the machine's end, or the out-of-memory killer: nobody was left to say so.
    Killed,
    Stalled,
    /// Ended by a cap on money or time.
    Capped,
    /// The person ended it and kept the disk.
    Stopped,
    /// The person ended it before it was through.
    Abandoned,
    /// A box without a training whose lease ran out.
    LeaseOver,
    /// The provider took the box away: a spot interruption or a lost host.
    Vanished,
    /// No training ever started.
    NeverStarted,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ended {
    pub outcome: Outcome,
    pub at: DateTime<Utc>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InstanceRef {
    /// The provider's own id.
    pub id: String,
    pub rented_at: DateTime<Utc>,
    /// When the provider's list first showed it: from then on, not being there means that it is gone.
    pub listed_at: Option<DateTime<Utc>>,
    /// When it was seen running first, after its creation or its newest restart.
    pub came_up_at: Option<DateTime<Utc>>,
    /// Since when it is being restarted.
    pub waking_since: Option<DateTime<Utc>>,
    /// When it came up, by the provider's clock: another time later means that it was restarted.
    pub running_since: Option<DateTime<Utc>>,
    /// Which of the run's offers it is.
    pub offer: Option<String>,
    /// Why it was last seen to be of no use.
    #[serde(default)]
    pub fault: Option<String>,
}

/// What one box of the run is charged for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Account {
    /// The provider's id of the box.
    pub instance: String,
    /// The prices it was rented under.
    pub rate_card: RateCard,
    /// Billed states; the last one is open while the box exists.
    pub intervals: Vec<StateInterval>,
    /// Downloaded by the set-up.
    pub inbound: Gigabytes,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dated<T> {
    pub value: T,
    pub at: DateTime<Utc>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TriedOffer {
    /// [`Offer`]'s id.
    pub offer: String,
    pub at: DateTime<Utc>,
    pub why: String,
    /// The machine, where a box on it was had and was of no use: to be left alone for a while.
    #[serde(default)]
    pub host: Option<String>,
    /// What the box cost until it was given back; `None` where there was none.
    #[serde(default)]
    pub lost: Option<Money>,
}

/// A step that failed, and how often in a row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepFailure {
    pub step: Step,
    pub times: u32,
    pub last_at: DateTime<Utc>,
    /// Trying again can help: a lost connection, not a wrong argument.
    pub temporary: bool,
    pub message: String,
}

/// What is known about the pause after the training's end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Gap {
    Unknown,
    /// `--away 10h`, `--back-at …`: the person goes on with this box then.
    Declared {
        back_at: DateTime<Utc>,
    },
    /// The person's own past pauses, from the ledger.
    History {
        gaps: Vec<PastGap>,
        trust: Trust,
    },
}

/// Everything decided before the first dollar, and not changed after.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunSpec {
    pub provider: String,
    /// Best first: when one is gone or doesn't work, the next is taken. Never empty.
    pub offers: Vec<Offer>,
    pub disk: Gigabytes,
    /// The most that a running box may cost, its disk included: what the person agreed to. No offer above it is rented.
    #[serde(default)]
    pub price_limit: Option<HourlyRate>,
    pub image: Option<String>,
    #[serde(default)]
    pub volume: Option<VolumeSpec>,
    pub install: InstallSpec,
    pub prove: ProveSpec,
    pub stage: Option<StageSpec>,
    /// `None`: a bare box under a lease.
    pub launch: Option<LaunchSpec>,
    pub checkpoints: CheckpointSpec,
    pub stop: StopSpec,
    /// What coming back takes.
    pub rebuild: RebuildTerms,
    /// How likely a stopped box finds its GPUs again.
    pub restart_odds: RestartOdds,
    pub timing: TimingSpec,
}

/// When the spending ends.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StopSpec {
    /// Hard cap on hours of a running box.
    pub max_hours: Option<Hours>,
    /// Hard cap on what the run costs in all, a stopped disk included.
    pub max_cost: Option<Money>,
    pub policy: TeardownPolicy,
    /// How long unverified checkpoints hold back the end of the box, in seconds.
    pub grace_seconds: u64,
    /// How long a box without a training stays.
    pub lease: Hours,
    /// No progress for this long, and for longer than [`StopSpec::stall_epochs`] mean epochs, is a stall.
    pub stall_seconds: u64,
    pub stall_epochs: u32,
    /// How often somebody looks (cron, daemon, or a waiting terminal), in seconds.
    pub poll_seconds: u64,
    /// Restarts and rebuilds after an interruption without being asked.
    pub max_relaunches: u32,
}

/// The job's `stop.policy`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TeardownPolicy {
    /// The table: completed and verified is destroyed, a failure is kept stopped for a while.
    Default,
    /// Compare for the declared gap.
    BreakEven,
    /// Stop, and destroy when the disk has cost what it is worth.
    SkiRental,
    /// The threshold that past pauses make best.
    Learned,
    /// Destroy as soon as the weights are verified.
    Destroy,
    /// Leave the box running; caps still apply.
    Keep,
}

/// How patient the run is with its provider, in seconds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimingSpec {
    /// A box that isn't running this long after the create call is given back.
    pub boot_seconds: u64,
    /// How long a new box may be missing from the provider's list. Until then "absent" proves nothing
    /// about a create call whose reply was lost.
    pub list_lag_seconds: u64,
    /// A step that failed waits this long, doubled each time, before it is tried again.
    pub retry_seconds: u64,
    /// How often a step is tried before the box is given up.
    pub retry_limit: u32,
}
