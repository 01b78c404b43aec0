//! What was done, and what came of it. [`begin`] is stored before the provider is called, so that a crash
//! in between leaves a trace; [`finish`] after.

use chrono::{DateTime, Utc};
use gpurun_pricing::{BilledState, Gigabytes, StateInterval};
use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};

use super::intervals::{self, End};
use super::{seen, spares};
use crate::action::{Action, Step, Target};
use crate::observation::{CheckpointView, TrainingView};
use crate::run::{Account, Ended, InstanceRef, Outcome, Phase, RunRecord, StepFailure, TriedOffer};

const BYTES_PER_GIGABYTE: u64 = 1_000_000_000;

/// What came of an action.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "result")]
pub enum ActionResult {
    Done {
        /// The new box's id, of [`Action::Rent`].
        instance: Option<String>,
        /// What the box said afterwards, of [`Action::PushNow`], [`Action::EndTraining`] and
        /// [`Action::Launch`]. A box that is stopped next can't be asked again.
        training: Option<Box<TrainingView>>,
        checkpoints: Option<Box<CheckpointView>>,
    },
    /// It certainly didn't happen.
    Failed {
        /// Trying the same again can help.
        temporary: bool,
        message: String,
    },
    /// The box itself is of no use: nothing will ever work on it.
    Unfit { message: String },
    /// The reply was lost: it may have happened. Only looking tells.
    Unclear { message: String },
}

impl ActionResult {
    /// Done, and nothing more to say.
    #[must_use]
    pub fn done() -> Self {
        Self::Done {
            instance: None,
            training: None,
            checkpoints: None,
        }
    }
}

/// Marks `action` as about to be tried.
pub fn begin(run: &mut RunRecord, action: &Action, now: DateTime<Utc>) {
    match action {
        Action::Rent { .. } => run.rent_pending_since = Some(now),
        Action::EndTraining { outcome, .. } => {
            run.end_ordered.get_or_insert(Ended {
                outcome: *outcome,
                at: now,
            });
        }
        Action::StopInstance { .. } => {
            run.stop_ordered_at.get_or_insert(now);
        }
        Action::DestroyInstance { target, outcome } => {
            if is_spare(run, target) {
                return;
            }
            run.destroy_ordered_at.get_or_insert(now);
            run.destroy_outcome = *outcome;
        }
        _ => {}
    }
}

/// Writes down what came of `action`.
pub fn finish(run: &mut RunRecord, action: &Action, result: &ActionResult, now: DateTime<Utc>) {
    match result {
        ActionResult::Done {
            instance,
            training,
            checkpoints,
        } => {
            run.failures.retain(|failure| failure.step != action.step());
            done(run, action, instance.as_deref(), now);
            seen::absorb_box(run, training.as_deref(), checkpoints.as_deref(), now);
        }
        ActionResult::Failed { temporary, message } => {
            failed(run, action.step(), *temporary, message, now);
            if let Action::Rent { offer, .. } = action {
                run.rent_pending_since = None;
                if !temporary {
                    let (offer, why) = (offer.id.clone(), message.clone());
                    run.tried.push(TriedOffer {
                        offer,
                        at: now,
                        why,
                        host: None,
                        lost: None,
                    });
                }
            }
        }
        ActionResult::Unfit { message } => {
            failed(run, action.step(), false, message, now);
            if let Some(instance) = &mut run.instance {
                instance.fault = Some(message.clone());
            }
        }
        ActionResult::Unclear { message } => failed(run, action.step(), true, message, now),
    }
}

fn done(run: &mut RunRecord, action: &Action, instance: Option<&str>, now: DateTime<Utc>) {
    match action {
        Action::Rent { offer, .. } => {
            let Some(id) = instance else { return };
            own(run, id, Some(&offer.id), now);
            if run.launches > 0 {
                count_relaunch(run);
            }
        }
        Action::Adopt { target } => {
            let Some(id) = target.instance.as_deref() else {
                return;
            };
            own(run, id, None, now);
        }
        Action::Install { .. } => reach(run, Phase::Installed, now),
        Action::Prove { .. } => reach(run, Phase::Proved, now),
        Action::Stage { spec, .. } => {
            let moved =
                Gigabytes::new(Decimal::from(spec.bytes) / Decimal::from(BYTES_PER_GIGABYTE));
            if let Some(account) = run.accounts.last_mut() {
                account.inbound += moved;
            }
            reach(run, Phase::Staged, now);
        }
        Action::Launch { attempt, .. } => {
            run.phase = Phase::Launched;
            run.launches = run.launches.max(*attempt);
            run.launched_at = Some(now);
            run.launched_on = run.instance.as_ref().map(|instance| instance.id.clone());
            run.start_asked = false;
            run.last_training = None;
            run.ended = None;
            run.end_ordered = None;
        }
        Action::StartInstance { .. } => {
            // Its memory is gone, perhaps more: every step of the set-up looks again.
            run.phase = run.phase.min(Phase::Rented);
            run.ready_at = None;
            run.stop_ordered_at = None;
            if let Some(instance) = &mut run.instance {
                (instance.came_up_at, instance.waking_since) = (None, Some(now));
            }
            count_relaunch(run);
        }
        Action::Close { outcome } => {
            run.phase = Phase::Ended;
            run.ended.get_or_insert(Ended {
                outcome: *outcome,
                at: now,
            });
        }
        // A reply proves nothing about these; what is seen next does.
        Action::StopInstance { target } | Action::DestroyInstance { target, .. } => {
            if is_spare(run, target) {
                spares::ended(run, target.instance.as_deref(), now);
            } else {
                run.accepted_at = Some(now);
            }
        }
        Action::Authorize { .. }
        | Action::Restore { .. }
        | Action::Fetch { .. }
        | Action::PushNow { .. }
        | Action::EndTraining { .. } => {}
    }
}

/// Another box than the ledger's, that only goes.
fn is_spare(run: &RunRecord, target: &Target) -> bool {
    let known = run.instance.as_ref().map(|instance| &instance.id);
    known.is_some() && known != target.instance.as_ref()
}

fn own(run: &mut RunRecord, id: &str, offer: Option<&str>, now: DateTime<Utc>) {
    let rented_at = run.rent_pending_since.take().unwrap_or(now);
    // An adopted box is the one whose create call got lost: the offer that was next then.
    let rented = match offer {
        Some(id) => run.spec.offers.iter().find(|offer| offer.id == id),
        None => run.next_offer(),
    };
    let rented = rented.or(run.spec.offers.first()).cloned();
    let offer = rented.as_ref().map(|offer| offer.id.clone());
    if let Some(account) = run
        .accounts
        .last_mut()
        .filter(|account| account.instance != id)
    {
        intervals::close(&mut account.intervals, End::Seen(rented_at));
    }
    // Billed from here until something else is seen, also if nobody sees it for days.
    if let Some(account) = run
        .accounts
        .last_mut()
        .filter(|account| account.instance == id)
    {
        intervals::enter(&mut account.intervals, BilledState::Running, Some(now), now);
    } else if let Some(rented) = rented {
        let open = StateInterval {
            state: BilledState::Running,
            from: rented_at,
            to: None,
            certain_until: Some(now),
        };
        run.accounts.push(Account {
            instance: id.to_owned(),
            rate_card: rented.card,
            intervals: vec![open],
            inbound: Gigabytes::ZERO,
        });
    }
    run.instance = Some(InstanceRef {
        id: id.to_owned(),
        rented_at,
        listed_at: None,
        came_up_at: None,
        waking_since: None,
        running_since: None,
        offer,
        fault: None,
    });
    run.lost_at = None;
    (run.destroy_ordered_at, run.destroy_outcome) = (None, None);
    run.accepted_at = None;
    run.phase = run.phase.max(Phase::Rented);
}

fn count_relaunch(run: &mut RunRecord) {
    if !run.start_asked {
        run.relaunches = run.relaunches.saturating_add(1);
    }
}

fn reach(run: &mut RunRecord, phase: Phase, now: DateTime<Utc>) {
    run.phase = run.phase.max(phase);
    let last = if run.spec.stage.is_some() {
        Phase::Staged
    } else {
        Phase::Proved
    };
    if run.spec.launch.is_none() && run.phase >= last {
        run.ready_at.get_or_insert(now);
    }
}

fn failed(run: &mut RunRecord, step: Step, temporary: bool, message: &str, now: DateTime<Utc>) {
    let message = message.to_owned();
    if let Some(failure) = run.failures.iter_mut().find(|failure| failure.step == step) {
        failure.times = failure.times.saturating_add(1);
        (failure.last_at, failure.temporary, failure.message) = (now, temporary, message);
        return;
    }
    run.failures.push(StepFailure {
        step,
        times: 1,
        last_at: now,
        temporary,
        message,
    });
}

/// What a training that came to its end under orders is called.
pub(super) fn outcome_of(run: &RunRecord, by_itself: Outcome) -> Outcome {
    match &run.end_ordered {
        Some(order) if by_itself != Outcome::Completed => order.outcome,
        _ => by_itself,
    }
}
