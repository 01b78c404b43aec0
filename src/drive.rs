//! Passes in a row until a goal is reached: what `launch`, `start`, `stop`, `destroy` and `wait` do
//! after they have written down what the person wants.

use crate::error::{Failure, Result};
use crate::exit_code::ExitCode;
use crate::observe::observe;
use crate::reconcile::{Pass, Watcher, pass};
use crate::shell::Shell;
use crate::store::{LockError, RunLock};
use crate::ui::{Follower, Steps};
use chrono::{DateTime, Utc};
use gpurun_lifecycle::{Action, ActionResult, InstanceView, Phase, Plan, RunRecord, Sighting};
use std::time::Duration;

/// When the person has what was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Goal {
    /// The training runs, or the bare box is ready.
    Launched,
    /// The training is over and the box is what the arithmetic wants it to be.
    Settled,
    Stopped,
    Destroyed,
}

/// How a row of passes ended.
pub(crate) enum End {
    Reached(Box<Pass>),
    /// The patience is at its end; the wish stays in the ledger.
    NotYet(Box<Pass>),
    /// Ctrl-C: what runs on the box goes on.
    Interrupted,
}

/// Between two looks at a training that is followed.
const LOOK: Duration = Duration::from_secs(1);
const SHORTEST_PAUSE: Duration = Duration::from_millis(100);
/// The longest pause between two passes, so that another gpurun's doings are seen.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
/// How long to wait for another gpurun that is at work on the same run.
const LOCK_PATIENCE: Duration = Duration::from_secs(120);

/// Passes until the goal is reached, the run is over, or the patience is at its end (`None`: never).
pub(crate) async fn drive(
    shell: &Shell,
    run: &str,
    goal: Goal,
    patience: Option<Duration>,
) -> Result<End> {
    let started = tokio::time::Instant::now();
    let mut interrupt = std::pin::pin!(tokio::signal::ctrl_c());
    let mut view = View {
        steps: Steps::new(shell.ui),
        follower: Follower::new(shell.ui),
    };
    let mut pauses = Pauses::default();
    loop {
        let lock = tokio::select! {
            lock = lock(shell, run) => lock?,
            _ = &mut interrupt => return Ok(view.interrupted()),
        };
        let seen = tokio::select! {
            seen = pass(shell, &lock, &mut view) => seen?,
            _ = &mut interrupt => return Ok(view.interrupted()),
        };
        drop(lock);
        if reached(goal, &seen) {
            view.follower.finish();
            return Ok(End::Reached(Box::new(seen)));
        }
        let left = patience.map(|patience| patience.saturating_sub(started.elapsed()));
        if left.is_some_and(|left| left.is_zero()) {
            view.follower.finish();
            return Ok(End::NotYet(Box::new(seen)));
        }
        for attention in view.news(&seen.plan) {
            view.follower.say(&format!("  ! {attention}"));
        }
        let pause = match pauses.after(&seen.done, seen.succeeded()) {
            None => continue,
            Some(pause) if seen.done.is_empty() => pause.max(until_due(&seen.plan, Utc::now())),
            Some(pause) => pause,
        };
        let pause = left.map_or(pause, |left| pause.min(left));
        tokio::select! {
            () = rest(shell, &seen, pause, &mut view) => {}
            _ = &mut interrupt => return Ok(view.interrupted()),
        }
    }
}

/// Takes the run's lock, waiting a while for another gpurun that has it.
pub(crate) async fn lock(shell: &Shell, run: &str) -> Result<RunLock> {
    let started = tokio::time::Instant::now();
    loop {
        match shell.ledger.lock(run) {
            Ok(lock) => return Ok(lock),
            Err(LockError::Held(holder)) if started.elapsed() > LOCK_PATIENCE => {
                return Err(Failure::new(
                    ExitCode::Ledger,
                    format!("another gpurun ({holder}) is at work on run {run}"),
                    "wait for it to end; what is wanted is in the ledger, and the next `gpurun reap` goes on",
                ));
            }
            Err(LockError::Held(_)) => tokio::time::sleep(Duration::from_millis(200)).await,
            Err(error) => return Err(error.into()),
        }
    }
}

fn reached(goal: Goal, seen: &Pass) -> bool {
    let run = &seen.run;
    if run.phase == Phase::Ended {
        return true;
    }
    match goal {
        // Not before a look has found it so: a command may end at once.
        Goal::Launched => {
            let ready = run.spec.launch.is_none() && run.ready_at.is_some();
            seen.done.is_empty() && (run.phase == Phase::Launched || ready)
        }
        Goal::Settled => over(run) && seen.plan.actions.is_empty() && is_at_rest(seen),
        Goal::Stopped => matches!(
            seen.look.observation.instance,
            Sighting::Seen {
                value: InstanceView::Stopped { .. } | InstanceView::Absent,
                ..
            }
        ),
        Goal::Destroyed => false,
    }
}

fn over(run: &RunRecord) -> bool {
    run.ended.is_some()
}

/// Nothing is on its way: what is waited for is the passing of time, or a person.
fn is_at_rest(seen: &Pass) -> bool {
    let moving = matches!(
        seen.look.observation.instance.value(),
        Some(
            InstanceView::Creating { .. }
                | InstanceView::Locked { .. }
                | InstanceView::Stopping { .. }
                | InstanceView::Destroying { .. }
        )
    );
    let soon = Utc::now() + chrono::TimeDelta::minutes(2);
    let waits_for_soon = seen
        .plan
        .waits
        .iter()
        .any(|wait| wait.until.is_some_and(|until| until < soon));
    !moving && !waits_for_soon
}

/// Waits until a look is due, and shows the training's progress meanwhile.
async fn rest(shell: &Shell, seen: &Pass, pause: Duration, view: &mut View) {
    let end = tokio::time::Instant::now() + pause;
    let training = seen.run.phase == Phase::Launched && !over(&seen.run);
    while tokio::time::Instant::now() < end {
        if training {
            let look = observe(shell, &seen.run).await;
            view.follower.show(&crate::progress::of(&seen.run, &look));
            let state = look
                .observation
                .training
                .value()
                .map(|training| training.state);
            if state.is_some_and(|state| state.is_over()) {
                return;
            }
        }
        let left = end.saturating_duration_since(tokio::time::Instant::now());
        tokio::time::sleep(LOOK.min(left)).await;
    }
}

/// Between two passes that did something. What is done again and again, or fails, is paced: a loop without
/// a pause would only burn a processor and fill the ledger.
#[derive(Default)]
struct Pauses {
    before: Vec<Action>,
    next: Duration,
}

impl Pauses {
    /// `None`: go on at once.
    fn after(&mut self, done: &[(Action, ActionResult)], succeeded: bool) -> Option<Duration> {
        let now: Vec<Action> = done.iter().map(|(action, _)| action.clone()).collect();
        let repeats = !now.is_empty() && now == self.before;
        self.before = now;
        if !repeats {
            self.next = SHORTEST_PAUSE;
            return (!succeeded || done.is_empty()).then_some(SHORTEST_PAUSE);
        }
        self.next = (self.next * 2).min(LONGEST_PAUSE);
        Some(self.next)
    }
}

fn until_due(plan: &Plan, now: DateTime<Utc>) -> Duration {
    let next = plan.waits.iter().filter_map(|wait| wait.until).min();
    let until = next.map_or(LONGEST_PAUSE, |until| {
        (until - now).to_std().unwrap_or(Duration::ZERO)
    });
    until.clamp(SHORTEST_PAUSE, LONGEST_PAUSE)
}

struct View {
    steps: Steps,
    follower: Follower,
}

impl View {
    fn interrupted(&mut self) -> End {
        self.follower.finish();
        End::Interrupted
    }

    fn news(&mut self, plan: &Plan) -> Vec<String> {
        self.steps.news(plan)
    }
}

impl Watcher for View {
    fn begins(&mut self, action: &Action) {
        self.follower.finish();
        self.steps.begins(action);
    }

    fn ends(&mut self, action: &Action, result: &ActionResult) {
        self.steps.ends(action, result);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chrono::TimeDelta;
    use gpurun_lifecycle::{Verdict, VerdictKind, Wait};

    fn plan(until: Option<DateTime<Utc>>) -> Plan {
        Plan {
            run: "3f".to_owned(),
            at: DateTime::UNIX_EPOCH,
            verdict: Verdict {
                kind: VerdictKind::Wait,
                reason: String::new(),
            },
            actions: Vec::new(),
            waits: vec![Wait {
                on: "box".to_owned(),
                until,
                why: String::new(),
            }],
            attention: Vec::new(),
        }
    }

    #[test]
    fn what_repeats_itself_is_paced_and_what_goes_on_is_not() {
        let action = |why: &str| Action::EndTraining {
            target: gpurun_lifecycle::Target {
                provider: "local".to_owned(),
                label: "gpurun-3f".to_owned(),
                instance: Some("box".to_owned()),
            },
            why: why.to_owned(),
            outcome: gpurun_lifecycle::Outcome::Abandoned,
        };
        let done = |why: &str| vec![(action(why), ActionResult::done())];
        let mut pauses = Pauses::default();
        assert_eq!(pauses.after(&done("one"), true), None);
        assert_eq!(pauses.after(&done("two"), true), None);
        let repeated: Vec<Duration> = (0..10)
            .filter_map(|_| pauses.after(&done("two"), true))
            .collect();
        assert_eq!(repeated.len(), 10);
        assert!(repeated.is_sorted() && repeated.last() == Some(&LONGEST_PAUSE));
        assert_eq!(pauses.after(&done("one"), true), None);
        assert_eq!(pauses.after(&done("two"), false), Some(SHORTEST_PAUSE));
        assert_eq!(pauses.after(&[], true), Some(SHORTEST_PAUSE));
    }

    #[test]
    fn a_pause_ends_when_something_is_due_and_never_lasts_long() {
        let now = DateTime::UNIX_EPOCH;
        let at = |seconds| plan(Some(now + TimeDelta::seconds(seconds)));
        assert_eq!(until_due(&at(3), now), Duration::from_secs(3));
        assert_eq!(until_due(&at(-3), now), Duration::from_millis(100));
        assert_eq!(until_due(&at(3600), now), LONGEST_PAUSE);
        assert_eq!(until_due(&plan(None), now), LONGEST_PAUSE);
    }
}
