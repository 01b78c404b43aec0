//! What really lies on a box when a training ends in one way or another.

use chrono::{DateTime, TimeDelta, Utc};
use gpurun_protocol::exit_report::End;
use gpurun_protocol::report::BoxReport;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{StallRule, judge};
use crate::fixtures::start;
use crate::observation::{AgentState, TrainingState, TrainingView};
use crate::setup::Engine;

const RULE: StallRule = StallRule {
    seconds: 900,
    epochs: 10,
};

fn at(seconds: i64) -> DateTime<Utc> {
    start() + TimeDelta::seconds(seconds)
}

fn process(alive: bool) -> Value {
    json!({"process": {"pid": 41, "start_ticks": 7, "boot_id": "b"}, "alive": alive})
}

/// A report at `now`; the training started at 0. What is left out is absent.
struct Found {
    now: i64,
    training_alive: Option<bool>,
    agent_alive: bool,
    heartbeat: Option<i64>,
    status: Option<Value>,
    exit: Option<End>,
    progress: Option<i64>,
    longest_epoch: Option<f64>,
}

impl Found {
    fn at(now: i64) -> Self {
        Self {
            now,
            training_alive: Some(true),
            agent_alive: true,
            heartbeat: Some(now),
            status: None,
            exit: None,
            progress: None,
            longest_epoch: None,
        }
    }

    fn status(mut self, state: &str, updated: i64) -> Self {
        let mut status = json!({"state": state, "updated_at": at(updated), "total_epochs": 100, "mean_epoch_seconds": 60.0});
        if updated > 0 && state == "running" {
            status["current_epoch"] = json!(updated / 60);
            status["eta_seconds"] = json!(3600.5);
        }
        if state == "failed" {
            status["error"] = json!({"type": "RuntimeError", "message": "CUDA out of memory"});
        }
        self.status = Some(status);
        self
    }

    fn dead(mut self) -> Self {
        self.training_alive = Some(false);
        self
    }

    fn exit(mut self, end: End) -> Self {
        self.exit = Some(end);
        self.dead()
    }

    fn no_agent(mut self, heartbeat: i64) -> Self {
        (self.agent_alive, self.heartbeat) = (false, Some(heartbeat));
        self
    }

    fn report(&self) -> BoxReport {
        let mut report = json!({
            "schema_version": 1, "at": at(self.now), "run_id": "7f", "attempt": 1,
            "agent": process(self.agent_alive), "training_started_at": at(0), "status": self.status,
            "last_progress_at": self.progress.map(at),
        });
        if let Some(alive) = self.training_alive {
            report["training"] = process(alive);
        }
        if let Some(heartbeat) = self.heartbeat {
            report["heartbeat"] = json!({
                "schema_version": 1, "run_id": "7f", "attempt": 1, "written_at": at(heartbeat), "period_seconds": 5,
                "phase": "training", "agent": process(true)["process"],
            });
        }
        if let Some(end) = &self.exit {
            report["exit"] = json!({
                "schema_version": 1, "run_id": "7f", "attempt": 1, "written_at": at(self.now),
                "ended_at": at(self.now - 10), "end": end,
            });
        }
        if let Some(longest) = self.longest_epoch {
            report["history"] =
                json!({"epochs": 1, "last": {"epoch": 1}, "longest_epoch_seconds": longest});
        }
        serde_json::from_value(report).expect("the protocol's form")
    }

    fn judged(&self, engine: Engine) -> TrainingView {
        judge(&self.report(), engine, RULE)
    }

    fn state(&self) -> TrainingState {
        self.judged(Engine::GpurunTrain).state
    }
}

fn exited(code: i32) -> End {
    End::Exited { code }
}

fn signaled(signal: i32) -> End {
    End::Signaled {
        signal,
        name: format!("signal {signal}"),
    }
}

#[test]
fn running_stays_in_the_file_for_ever_and_a_dead_process_is_killed() {
    let view = Found::at(400)
        .status("running", 300)
        .dead()
        .judged(Engine::Libreyolo);
    assert_eq!(view.state, TrainingState::Killed);
    assert_eq!(
        view.ended_at,
        Some(at(400)),
        "the agent's heartbeat was the last sign of life"
    );
    assert_eq!(
        Found::at(90_000)
            .status("running", 300)
            .no_agent(320)
            .dead()
            .state(),
        TrainingState::Killed
    );
}

#[test]
fn a_dead_agent_leaves_a_training_that_goes_on() {
    let view = Found::at(400)
        .status("running", 300)
        .no_agent(100)
        .judged(Engine::GpurunTrain);
    assert_eq!(
        (view.state, view.agent),
        (TrainingState::Running, AgentState::Silent)
    );
    assert_eq!(
        (view.epoch, view.total_epochs, view.eta_seconds),
        (Some(5), Some(100), Some(3600))
    );
}

#[test]
fn the_exit_report_wins() {
    let found = |state: &str, end| Found::at(400).status(state, 300).exit(end).state();
    assert_eq!(found("completed", exited(0)), TrainingState::Completed);
    assert_eq!(found("completed", exited(1)), TrainingState::Failed);
    assert_eq!(found("running", exited(1)), TrainingState::Failed);
    assert_eq!(
        found("running", exited(0)),
        TrainingState::Failed,
        "it never said that it had completed"
    );
    assert_eq!(found("running", signaled(9)), TrainingState::Killed);
    assert_eq!(
        found("running", exited(137)),
        TrainingState::Killed,
        "a shell in between"
    );
    assert_eq!(
        found("failed", signaled(15)),
        TrainingState::Failed,
        "there was time for a last word"
    );
    assert_eq!(
        found("completed", End::Unobserved),
        TrainingState::Completed
    );
    assert_eq!(found("running", End::Unobserved), TrainingState::Killed);
    let view = Found::at(400).exit(exited(1)).judged(Engine::GpurunTrain);
    assert_eq!(view.ended_at, Some(at(390)));
    assert_eq!(
        view.error.map(|error| error.kind),
        Some("exit code 1".to_owned())
    );
}

#[test]
fn a_failure_says_why() {
    let view = Found::at(400)
        .status("failed", 300)
        .dead()
        .judged(Engine::Libreyolo);
    let error = view.error.expect("an error");
    assert_eq!(
        (error.kind.as_str(), error.message.as_str()),
        ("RuntimeError", "CUDA out of memory")
    );
    let missing = End::NotStarted {
        message: "no such file: trian".to_owned(),
    };
    let mut found = Found::at(5).exit(missing);
    found.training_alive = None;
    let view = found.judged(Engine::Command);
    assert_eq!(view.state, TrainingState::Failed);
    assert_eq!(
        view.error.map(|error| error.message),
        Some("no such file: trian".to_owned())
    );
}

#[test]
fn r18_a_hanging_step_is_seen_from_epoch_times_not_from_the_process() {
    let mut found = Found::at(300 + 900).status("running", 300);
    assert_eq!(found.state(), TrainingState::Running);
    found.now += 1;
    found.heartbeat = Some(found.now);
    assert_eq!(
        found.state(),
        TrainingState::Stalled,
        "with the agent and the process alive"
    );
    found.longest_epoch = Some(600.0);
    assert_eq!(
        found.state(),
        TrainingState::Running,
        "an epoch with a validation takes that long"
    );
    let mut slow = Found::at(300 + 5_000).status("running", 300);
    slow.status.as_mut().expect("there")["mean_epoch_seconds"] = json!(510.0);
    assert_eq!(slow.state(), TrainingState::Running, "ten mean epochs");
}

#[test]
fn r23_progress_is_the_training_s_own() {
    let mut found = Found::at(2_000).status("running", 300);
    assert_eq!(found.state(), TrainingState::Stalled);
    found.progress = Some(1_500);
    assert_eq!(found.state(), TrainingState::Running, "metrics.jsonl grew");
}

#[test]
fn a_command_without_status_json_is_judged_by_process_and_exit_code_alone() {
    let state = |found: Found| found.judged(Engine::Command).state;
    assert_eq!(
        state(Found::at(1_000_000)),
        TrainingState::Running,
        "it has no progress to stall"
    );
    assert_eq!(
        state(Found::at(400).exit(exited(0))),
        TrainingState::Completed
    );
    assert_eq!(state(Found::at(400).exit(exited(3))), TrainingState::Failed);
    assert_eq!(
        state(Found::at(400).dead()),
        TrainingState::Running,
        "the agent is about to say how it ended"
    );
    assert_eq!(
        state(Found::at(400).dead().no_agent(100)),
        TrainingState::Killed
    );
}

#[test]
fn a_trainer_that_sets_up_is_starting_until_it_takes_too_long() {
    assert_eq!(Found::at(800).state(), TrainingState::Starting);
    assert_eq!(
        Found::at(800).status("running", 0).state(),
        TrainingState::Starting
    );
    assert_eq!(Found::at(901).state(), TrainingState::Stalled);
    let mut before = Found::at(3);
    before.training_alive = None;
    assert_eq!(before.state(), TrainingState::Starting, "the agent is up");
    assert_eq!(
        before.no_agent(1).state(),
        TrainingState::NotLaunched,
        "it went before it could"
    );
    let nothing: BoxReport =
        serde_json::from_value(json!({"schema_version": 1, "at": at(0)})).expect("a report");
    assert_eq!(
        judge(&nothing, Engine::GpurunTrain, RULE).state,
        TrainingState::NotLaunched
    );
}

#[test]
fn the_status_of_an_earlier_attempt_says_nothing() {
    for state in ["completed", "failed", "running"] {
        let found = Found::at(100).status(state, -500);
        assert_eq!(found.state(), TrainingState::Starting, "{state}");
    }
    assert_eq!(
        Found::at(100).status("completed", 0).dead().state(),
        TrainingState::Completed,
        "whole seconds"
    );
}

#[test]
fn a_process_that_said_its_last_word_may_take_a_while_to_leave() {
    assert_eq!(
        Found::at(310).status("completed", 300).state(),
        TrainingState::Running
    );
    assert_eq!(
        Found::at(1_300).status("completed", 300).state(),
        TrainingState::Completed
    );
    assert_eq!(
        Found::at(1_300).status("failed", 300).state(),
        TrainingState::Failed
    );
}

#[test]
fn a_time_in_the_future_is_just_now() {
    let mut found = Found::at(100).status("running", 5_000);
    assert_eq!(found.state(), TrainingState::Running);
    found = Found::at(100).status("running", 5_000).dead();
    let view = found.judged(Engine::GpurunTrain);
    assert_eq!(
        (view.state, view.ended_at),
        (TrainingState::Killed, Some(at(100)))
    );
}

proptest! {
    #[test]
    fn any_evidence_has_a_verdict_that_fits_it(
        now in 0i64..5_000, alive in prop::option::of(any::<bool>()), agent in any::<bool>(),
        heartbeat in prop::option::of(0i64..6_000), said in prop::option::of((0usize..4, -1_000i64..6_000)),
        exit in prop::option::of(prop_oneof![
            (0..200i32).prop_map(exited), (1..20i32).prop_map(signaled), Just(End::Unobserved)
        ]),
        mean in prop::option::of(prop_oneof![Just(f64::MAX), Just(-1.0), 0.0..1e5]), command in any::<bool>(),
    ) {
        let mut found = Found::at(now);
        (found.training_alive, found.agent_alive, found.heartbeat, found.exit) = (alive, agent, heartbeat, exit.clone());
        if let Some((word, updated)) = said {
            found = found.status(["running", "completed", "failed", "paused"][word], updated);
            found.status.as_mut().expect("just set")["mean_epoch_seconds"] = json!(mean);
        }
        let engine = if command { Engine::Command } else { Engine::Libreyolo };
        let view = found.judged(engine);
        let moves = matches!(view.state, TrainingState::Starting | TrainingState::Running | TrainingState::Stalled);
        prop_assert!(exit.is_none() || view.state.is_over(), "an exit report is the end: {:?}", view.state);
        prop_assert!(exit.is_some() || alive != Some(true) || view.state != TrainingState::Killed);
        prop_assert!(!(moves && alive == Some(false)) || (command && said.is_none_or(|(_, updated)| updated < 0)));
        prop_assert_eq!(view.state.is_over(), view.ended_at.is_some());
        prop_assert!(view.ended_at.is_none_or(|ended| ended <= at(now)));
    }
}
