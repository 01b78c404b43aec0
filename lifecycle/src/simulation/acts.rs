//! What an action does to the truth.

use chrono::TimeDelta;
use gpurun_pricing::{BilledState, StateInterval};

use super::scenario::Trouble;
use super::world::{BoxState, SimBox, SimTraining, World, progress};
use crate::action::Action;
use crate::bookkeeping::ActionResult;

impl World {
    /// Carries `action` out, as far as the troubles of the moment let it.
    pub(super) fn act(&mut self, action: &Action) -> ActionResult {
        let id = action.target().and_then(|target| target.instance.clone());
        // A plan that rents names no id: the executor takes the one that the ledger got.
        let id = id
            .or_else(|| self.live().last().map(|one| one.id.clone()))
            .unwrap_or_default();
        match action {
            Action::Rent { .. } => self.rent(),
            Action::Install { .. } => self.on_box(&id, 120),
            Action::Prove { .. } if self.scenario.has(Trouble::ProofFails, self.now) => {
                ActionResult::Failed {
                    temporary: false,
                    message: "no kernel image".to_owned(),
                }
            }
            Action::Prove { .. } => self.on_box(&id, 10),
            Action::Stage { .. } => {
                let result = self.on_box(&id, 300);
                self.staged += u32::from(matches!(result, ActionResult::Done { .. }));
                result
            }
            Action::Restore { .. } => {
                let pushed = self.pushed;
                let result = self.on_box(&id, 10);
                if let (ActionResult::Done { .. }, Some(one)) = (&result, self.find(&id)) {
                    one.epoch = pushed;
                }
                result
            }
            Action::Launch {
                attempt, resume, ..
            } => self.launch(&id, *attempt, *resume),
            Action::PushNow { .. } | Action::Fetch { .. } => {
                if self.scenario.has(Trouble::BoxUnreachable, self.now) || !self.push() {
                    return failed();
                }
                self.report(&id)
            }
            Action::EndTraining { .. } => {
                if self.scenario.has(Trouble::BoxUnreachable, self.now) {
                    return failed();
                }
                let now = self.now;
                if let Some(training) = self.find(&id).and_then(|one| one.training.as_mut()) {
                    training.cut_at.get_or_insert(now);
                }
                self.settle();
                self.report(&id)
            }
            Action::StartInstance { .. } => self.start(&id),
            Action::StopInstance { .. } => self.put(&id, BoxState::Stopped, Trouble::StopRefused),
            Action::DestroyInstance { .. } => {
                self.put(&id, BoxState::Gone, Trouble::DestroyRefused)
            }
            Action::Adopt { .. } | Action::Authorize { .. } | Action::Close { .. } => {
                ActionResult::done()
            }
        }
    }

    fn rent(&mut self) -> ActionResult {
        if self.scenario.has(Trouble::NoCapacity, self.now) {
            return ActionResult::Failed {
                temporary: true,
                message: "no capacity".to_owned(),
            };
        }
        let id = format!("box-{}", self.boxes.len() + 1);
        self.boxes.push(SimBox {
            id: id.clone(),
            state: BoxState::Running,
            up_since: self.now + TimeDelta::seconds(self.scenario.boot_seconds),
            listed_from: self.now + TimeDelta::seconds(self.scenario.list_lag),
            zero_gpus: false,
            intervals: vec![StateInterval {
                state: BilledState::Running,
                from: self.now,
                to: None,
                certain_until: None,
            }],
            epoch: None,
            training: None,
        });
        if self.scenario.has(Trouble::CreateReplyLost, self.now) {
            return ActionResult::Unclear {
                message: "connection reset".to_owned(),
            };
        }
        ActionResult::Done {
            instance: Some(id),
            training: None,
            checkpoints: None,
        }
    }

    /// Something that takes a while on a box that answers.
    fn on_box(&mut self, id: &str, seconds: i64) -> ActionResult {
        let now = self.now;
        let up = self
            .find(id)
            .is_some_and(|one| one.state == BoxState::Running && one.up_since <= now);
        if !up || self.scenario.has(Trouble::BoxUnreachable, now) {
            return failed();
        }
        self.now += TimeDelta::seconds(seconds);
        self.settle();
        ActionResult::done()
    }

    fn launch(&mut self, id: &str, attempt: u32, resume: bool) -> ActionResult {
        let ActionResult::Done { .. } = self.on_box(id, 5) else {
            return failed();
        };
        let now = self.now;
        let scenario = self.scenario.clone();
        let Some(one) = self.find(id) else {
            return failed();
        };
        if let Some(training) = &one.training {
            let alive = progress(training, &scenario, now).end.is_none();
            assert!(
                !alive || training.attempt == attempt,
                "a second training beside a living one"
            );
            if training.attempt == attempt {
                return ActionResult::done();
            }
        }
        let from_epoch = if resume { one.epoch.unwrap_or(0) } else { 0 };
        one.training = Some(SimTraining {
            attempt,
            from_epoch,
            started_at: now,
            cut_at: None,
        });
        ActionResult::done()
    }

    fn start(&mut self, id: &str) -> ActionResult {
        if self.scenario.has(Trouble::StartFails, self.now) {
            return ActionResult::Failed {
                temporary: false,
                message: "no free GPU on the host".to_owned(),
            };
        }
        let zero_gpus = self.scenario.has(Trouble::ZeroGpus, self.now);
        let (now, up_since) = (
            self.now,
            self.now + TimeDelta::seconds(self.scenario.boot_seconds),
        );
        let Some(one) = self.find(id) else {
            return failed();
        };
        one.enter(BoxState::Running, now);
        (one.up_since, one.zero_gpus) = (up_since, zero_gpus);
        ActionResult::done()
    }

    fn put(&mut self, id: &str, state: BoxState, refused: Trouble) -> ActionResult {
        if self.scenario.has(refused, self.now) {
            return ActionResult::Failed {
                temporary: true,
                message: "500".to_owned(),
            };
        }
        let now = self.now;
        if let Some(one) = self.find(id) {
            one.enter(state, now);
        }
        ActionResult::done()
    }

    fn report(&mut self, id: &str) -> ActionResult {
        let one = self
            .live()
            .find(|one| one.id == id && one.state == BoxState::Running);
        let Some(one) = one else { return failed() };
        ActionResult::Done {
            instance: None,
            training: Some(Box::new(self.training(one))),
            checkpoints: Some(Box::new(self.checkpoints(one))),
        }
    }
}

fn failed() -> ActionResult {
    ActionResult::Failed {
        temporary: true,
        message: "the box doesn't answer".to_owned(),
    }
}
