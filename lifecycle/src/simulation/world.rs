//! The truth.

use chrono::{DateTime, TimeDelta, Utc};
use gpurun_pricing::{BilledState, Money, StateInterval, Usage, run_cost};

use super::scenario::{Fate, Scenario};
use crate::fixtures::start;

pub(super) struct World {
    pub(super) scenario: Scenario,
    pub(super) now: DateTime<Utc>,
    pub(super) boxes: Vec<SimBox>,
    /// The newest epoch that is off the box and verified.
    pub(super) pushed: Option<u32>,
    pub(super) staged: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BoxState {
    Running,
    Stopped,
    Gone,
}

pub(super) struct SimBox {
    pub(super) id: String,
    pub(super) state: BoxState,
    pub(super) up_since: DateTime<Utc>,
    pub(super) listed_from: DateTime<Utc>,
    pub(super) zero_gpus: bool,
    pub(super) intervals: Vec<StateInterval>,
    /// The newest epoch on its disk.
    pub(super) epoch: Option<u32>,
    pub(super) training: Option<SimTraining>,
}

#[derive(Clone)]
pub(super) struct SimTraining {
    pub(super) attempt: u32,
    pub(super) from_epoch: u32,
    pub(super) started_at: DateTime<Utc>,
    /// When somebody or something ended it from outside.
    pub(super) cut_at: Option<DateTime<Utc>>,
}

/// Where a training stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Progress {
    pub(super) epoch: u32,
    pub(super) last_at: DateTime<Utc>,
    pub(super) end: Option<(DateTime<Utc>, TrueEnd)>,
    pub(super) stuck: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TrueEnd {
    Completed,
    Failed,
    Killed,
}

impl World {
    pub(super) fn new(scenario: Scenario) -> Self {
        Self {
            scenario,
            now: start(),
            boxes: Vec::new(),
            pushed: None,
            staged: 0,
        }
    }

    pub(super) fn live(&self) -> impl Iterator<Item = &SimBox> {
        self.boxes.iter().filter(|one| one.state != BoxState::Gone)
    }

    pub(super) fn find(&mut self, id: &str) -> Option<&mut SimBox> {
        self.boxes
            .iter_mut()
            .find(|one| one.id == id && one.state != BoxState::Gone)
    }

    /// What the provider will charge, to the digit.
    pub(super) fn bill(&self) -> Money {
        let card = &self.scenario.spec.offers[0].card;
        let staged = self
            .scenario
            .spec
            .stage
            .as_ref()
            .map_or(0, |stage| stage.bytes);
        let inbound =
            rust_decimal::Decimal::from(u64::from(self.staged) * (staged / 1_000_000_000));
        let boxes = self.boxes.iter().map(|one| {
            let usage = Usage {
                intervals: one.intervals.clone(),
                disk: self.scenario.spec.disk,
                ..Usage::default()
            };
            run_cost(&usage, card, self.now).so_far
        });
        boxes.sum::<Money>() + card.inbound * gpurun_pricing::Gigabytes::new(inbound)
    }

    /// Lets what happens by itself happen until now: epochs end, checkpoints are written and pushed, boxes vanish.
    pub(super) fn settle(&mut self) {
        let second = (self.now - start()).num_seconds();
        let due = self
            .scenario
            .vanishes
            .iter()
            .filter(|at| **at <= second)
            .count();
        if due > 0 {
            self.scenario.vanishes.retain(|at| *at > second);
            let now = self.now;
            for one in &mut self.boxes {
                one.enter(BoxState::Gone, now);
            }
        }
        let running = self
            .boxes
            .iter()
            .position(|one| one.state == BoxState::Running);
        let Some(index) = running else { return };
        let Some(training) = self.boxes[index].training.clone() else {
            return;
        };
        let progress = progress(&training, &self.scenario, self.now);
        if progress.epoch > 0 {
            self.boxes[index].epoch = self.boxes[index].epoch.max(Some(progress.epoch));
        }
        if !self
            .scenario
            .has(super::scenario::Trouble::AgentDead, self.now)
        {
            self.push();
        }
    }

    /// One pass of pushing; returns whether the destination took it.
    pub(super) fn push(&mut self) -> bool {
        if self
            .scenario
            .has(super::scenario::Trouble::DestinationDown, self.now)
        {
            return false;
        }
        let newest = self
            .live()
            .filter(|one| one.state == BoxState::Running)
            .filter_map(|one| one.epoch)
            .max();
        self.pushed = self.pushed.max(newest);
        true
    }
}

impl SimBox {
    pub(super) fn enter(&mut self, state: BoxState, now: DateTime<Utc>) {
        if self.state == state || self.state == BoxState::Gone {
            return;
        }
        self.state = state;
        if let Some(open) = self.intervals.last_mut() {
            open.to = Some(now);
        }
        if state != BoxState::Running
            && let Some(training) = &mut self.training
        {
            training.cut_at.get_or_insert(now);
        }
        let billed = match state {
            BoxState::Running => BilledState::Running,
            BoxState::Stopped => BilledState::Stopped,
            BoxState::Gone => return,
        };
        self.intervals.push(StateInterval {
            state: billed,
            from: now,
            to: None,
            certain_until: None,
        });
    }
}

pub(super) fn progress(
    training: &SimTraining,
    scenario: &Scenario,
    now: DateTime<Utc>,
) -> Progress {
    let until = training.cut_at.unwrap_or(now).min(now);
    let last_epoch = match scenario.fate {
        Fate::Completes => scenario.epochs,
        // A resumed training has got past what ended the first one.
        _ if training.attempt > 1 => scenario.epochs,
        Fate::FailsAfter(epoch) | Fate::KilledAfter(epoch) | Fate::StallsAfter(epoch) => {
            epoch.min(scenario.epochs)
        }
    };
    let elapsed = (until - training.started_at).num_seconds().max(0) / scenario.epoch_seconds;
    let done = u32::try_from(elapsed)
        .unwrap_or(u32::MAX)
        .saturating_add(training.from_epoch)
        .min(last_epoch);
    let epochs_here = done.saturating_sub(training.from_epoch);
    let last_at =
        training.started_at + TimeDelta::seconds(i64::from(epochs_here) * scenario.epoch_seconds);
    let through = done >= last_epoch;
    let by_itself = match scenario.fate {
        _ if !through => None,
        Fate::StallsAfter(_) if training.attempt == 1 => None,
        Fate::FailsAfter(_) if training.attempt == 1 => Some(TrueEnd::Failed),
        Fate::KilledAfter(_) if training.attempt == 1 => Some(TrueEnd::Killed),
        _ => Some(TrueEnd::Completed),
    };
    let cut = training
        .cut_at
        .filter(|cut| *cut <= now)
        .map(|cut| (cut, TrueEnd::Killed));
    Progress {
        epoch: done,
        last_at,
        end: by_itself.map(|end| (last_at, end)).or(cut),
        stuck: through,
    }
}
