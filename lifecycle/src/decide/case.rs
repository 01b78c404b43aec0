//! One decision's inputs, and the questions every rule asks of them.

use chrono::{DateTime, TimeDelta, Utc};
use gpurun_pricing::{HourlyRate, Hours, Money};

use super::draft::Draft;
use crate::action::{Step, Target};
use crate::observation::Observation;
use crate::plan::VerdictKind;
use crate::run::{RunRecord, StepFailure};
pub(super) use crate::time::{later, seconds};

#[derive(Clone, Copy)]
pub(super) struct Case<'a> {
    pub(super) run: &'a RunRecord,
    pub(super) seen: &'a Observation,
    pub(super) now: DateTime<Utc>,
}

impl<'a> Case<'a> {
    pub(super) fn draft(&self, kind: VerdictKind, reason: impl Into<String>) -> Draft {
        Draft::new(self, kind, reason.into())
    }

    pub(super) fn target(&self, id: &str) -> Target {
        self.target_of(Some(id.to_owned()))
    }

    pub(super) fn target_of(&self, instance: Option<String>) -> Target {
        let (provider, label) = (self.run.spec.provider.clone(), self.run.label.clone());
        Target {
            provider,
            label,
            instance,
        }
    }

    /// Time since `at`; a time in the future is just now.
    pub(super) fn age(&self, at: DateTime<Utc>) -> TimeDelta {
        (self.now - at).max(TimeDelta::zero())
    }

    pub(super) fn hours_since(&self, at: DateTime<Utc>) -> Hours {
        Hours::from_time_delta(self.age(at))
    }

    pub(super) fn poll(&self) -> TimeDelta {
        seconds(self.run.spec.stop.poll_seconds)
    }

    pub(super) fn can_stop(&self) -> bool {
        self.run.rate_card().is_some_and(|card| card.stop.exists())
    }

    pub(super) fn spent(&self) -> Money {
        self.run.spent(self.now)
    }

    pub(super) fn burn(&self) -> HourlyRate {
        self.run.burn(self.now)
    }

    /// What the box costs while it runs and while it is stopped.
    pub(super) fn rates(&self) -> (HourlyRate, HourlyRate) {
        let card = self.run.rate_card();
        let disk = self.run.spec.disk;
        card.map_or((HourlyRate::ZERO, HourlyRate::ZERO), |card| {
            (card.running_rate(disk), card.stopped_rate(disk))
        })
    }

    pub(super) fn failure(&self, step: Step) -> Option<&'a StepFailure> {
        self.run
            .failures
            .iter()
            .find(|failure| failure.step == step)
    }

    /// A restart or rebuild is wanted by the person or allowed by the job.
    pub(super) fn may_relaunch(&self) -> bool {
        self.run.start_asked || self.run.relaunches < self.run.spec.stop.max_relaunches
    }
}

/// When a failed step is tried again; `None` when it is given up.
pub(super) fn retry_at(run: &RunRecord, failure: &StepFailure) -> Option<DateTime<Utc>> {
    let timing = &run.spec.timing;
    if !failure.temporary || failure.times >= timing.retry_limit {
        return None;
    }
    let doublings = failure.times.saturating_sub(1).min(16);
    Some(later(
        failure.last_at,
        seconds(timing.retry_seconds.saturating_mul(1 << doublings)),
    ))
}
