//! From what is seen to what is done about it, as a pure plan.
//!
//! [`RunRecord`] (the ledger's knowledge) and [`Observation`] (one look) go in, [`Plan`] comes out: a verdict
//! with a reason a person can check, and actions with nothing left to choose. No clock, file or socket is
//! reachable from here; `now` is part of the observation.
//!
//! The shell's loop: look; [`absorb`]; [`decide`]; [`lint`]; store the plan; for each action [`begin`], store, act,
//! [`finish`], store.

#![deny(clippy::float_arithmetic)]

mod account;
mod action;
mod bookkeeping;
mod decide;
#[cfg(test)]
mod fixtures;
mod judge;
mod observation;
mod plan;
mod run;
mod safety;
mod setup;
#[cfg(test)]
mod simulation;
mod time;

pub use action::{Action, RestoredFile, Step, Target};
pub use bookkeeping::{
    ActionResult, absorb, ask_destroy, ask_start, ask_stop, ask_train, begin, finish,
};
pub use decide::{Cap, Work, cap_reached, decide, grace_until, work_of};
pub use judge::{StallRule, judge};
pub use observation::{
    AgentState, CheckpointView, FileStamp, InstanceView, Metric, Observation, Sighting,
    TrainingError, TrainingState, TrainingView, Verified,
};
pub use plan::{Attention, AttentionKind, Plan, Verdict, VerdictKind, Wait};
pub use run::{
    Account, Dated, Ended, Gap, InstanceRef, Intent, Outcome, Phase, RunRecord, RunSpec,
    StepFailure, StopSpec, TeardownPolicy, TimingSpec, TriedOffer,
};
pub use safety::{PlanFault, lint};
pub use setup::{
    CheckpointSpec, Engine, InstallSpec, LaunchSpec, ProveSpec, StageSpec, VolumeSpec,
};
