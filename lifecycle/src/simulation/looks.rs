//! What the truth looks like from outside.

use chrono::TimeDelta;

use super::scenario::Trouble;
use super::world::{BoxState, SimBox, TrueEnd, World, progress};
use crate::observation::*;

impl World {
    /// One look by gpurun.
    pub(super) fn look(&self) -> Observation {
        let now = self.now;
        let instance = self.instance();
        let one = self.live().find(|one| one.state == BoxState::Running);
        let reachable = !self.scenario.has(Trouble::BoxUnreachable, now);
        let (training, checkpoints) = match one.filter(|one| reachable && one.up_since <= now) {
            Some(one) => (
                Sighting::Seen {
                    value: self.training(one),
                    at: now,
                },
                Sighting::Seen {
                    value: self.checkpoints(one),
                    at: now,
                },
            ),
            None => (
                unseen("the box doesn't answer"),
                unseen("the box doesn't answer"),
            ),
        };
        Observation {
            now,
            instance,
            training,
            checkpoints,
        }
    }

    fn instance(&self) -> Sighting<InstanceView> {
        if self.scenario.has(Trouble::ProviderUnreadable, self.now) {
            return unseen("500");
        }
        let listed: Vec<&SimBox> = self
            .live()
            .filter(|one| one.listed_from <= self.now)
            .collect();
        let value = match listed.as_slice() {
            [] => InstanceView::Absent,
            [one] => view(one, self),
            several => InstanceView::Several {
                ids: several.iter().map(|one| one.id.clone()).collect(),
            },
        };
        Sighting::Seen {
            value,
            at: self.now,
        }
    }

    pub(super) fn training(&self, one: &SimBox) -> TrainingView {
        let silent = self.scenario.has(Trouble::AgentDead, self.now);
        let agent = if silent {
            AgentState::Silent
        } else {
            AgentState::Alive
        };
        let mut view = TrainingView {
            state: TrainingState::NotLaunched,
            attempt: None,
            epoch: None,
            total_epochs: Some(self.scenario.epochs),
            best: None,
            eta_seconds: None,
            mean_epoch_milliseconds: u64::try_from(self.scenario.epoch_seconds * 1000).ok(),
            last_progress_at: None,
            started_at: None,
            ended_at: None,
            error: None,
            exit_code: None,
            signal: None,
            agent,
        };
        let Some(training) = &one.training else {
            return view;
        };
        let progress = progress(training, &self.scenario, self.now);
        let stop = &self.scenario.spec.stop;
        let by_epochs = i64::from(stop.stall_epochs) * self.scenario.epoch_seconds;
        let limit = i64::try_from(stop.stall_seconds)
            .unwrap_or(i64::MAX)
            .max(by_epochs);
        let stalled = progress.stuck && self.now - progress.last_at > TimeDelta::seconds(limit);
        view.attempt = Some(training.attempt);
        view.epoch = (progress.epoch > 0).then_some(progress.epoch);
        view.started_at = Some(training.started_at);
        view.last_progress_at = Some(progress.last_at);
        view.ended_at = progress.end.map(|(at, _)| at);
        view.state = match progress.end {
            Some((_, TrueEnd::Completed)) => TrainingState::Completed,
            Some((_, TrueEnd::Failed)) => TrainingState::Failed,
            Some((_, TrueEnd::Killed)) => TrainingState::Killed,
            None if stalled => TrainingState::Stalled,
            None if progress.epoch == 0 => TrainingState::Starting,
            None => TrainingState::Running,
        };
        view
    }

    pub(super) fn checkpoints(&self, one: &SimBox) -> CheckpointView {
        let stamp = |epoch: u32| FileStamp {
            name: "weights/last.pt".to_owned(),
            sha256: Some(format!("{epoch:04x}")),
            bytes: 9,
            modified_at: self.now,
        };
        let verified = |epoch: u32| Verified {
            file: "last.pt".to_owned(),
            sha256: format!("{epoch:04x}"),
            bytes: 9,
            epoch: Some(epoch),
            milestone: "epoch".to_owned(),
            location: "/weights/last.pt".to_owned(),
            verified_at: self.now,
        };
        let all_verified = one.epoch <= self.pushed;
        CheckpointView {
            to_fetch: Vec::new(),
            newest_on_box: one.epoch.map(stamp),
            newest_verified: self.pushed.map(verified),
            all_verified,
            pending: if all_verified {
                Vec::new()
            } else {
                vec!["last.pt".to_owned()]
            },
            last_error: None,
        }
    }
}

fn view(one: &SimBox, world: &World) -> InstanceView {
    let id = one.id.clone();
    let since = one.intervals.last().map(|interval| interval.from);
    match one.state {
        BoxState::Running if one.up_since > world.now => InstanceView::Creating { id, since },
        BoxState::Running => InstanceView::Running {
            id,
            since,
            zero_gpus: one.zero_gpus,
            price: None,
        },
        BoxState::Stopped => InstanceView::Stopped { id, since },
        BoxState::Gone => InstanceView::Absent,
    }
}

fn unseen<T>(why: &str) -> Sighting<T> {
    Sighting::Unknown {
        why: why.to_owned(),
        since: None,
    }
}
