//! The state of a training, from all evidence together. No single file is believed alone: a killed trainer
//! leaves `state: "running"` behind for ever, a dead agent leaves a training that goes on, and a living
//! process may have stopped working days ago.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use gpurun_protocol::exit_report::{End, ExitReport};
use gpurun_protocol::report::BoxReport;
use gpurun_protocol::status::{State, Status};
use serde::{Deserialize, Serialize};

use crate::observation::{AgentState, Metric, TrainingError, TrainingState, TrainingView};
use crate::setup::Engine;

/// A heartbeat older than this many of its periods means that its agent is gone.
const HEARTBEATS_MISSED: u32 = 3;
/// `status.json` has whole seconds.
const STATUS_RESOLUTION: TimeDelta = TimeDelta::seconds(1);
/// No limit below this many of the longest epoch: those with a validation take longer.
const LONGEST_EPOCHS: u64 = 2;

/// When no progress is a stall: after `seconds`, and after `epochs` mean epochs, whichever is longer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct StallRule {
    pub seconds: u64,
    pub epochs: u32,
}

/// Judges the training at the report's own time, by the box's clock. Times in the future count as just now.
#[must_use]
pub fn judge(report: &BoxReport, engine: Engine, rule: StallRule) -> TrainingView {
    let status = report
        .status
        .as_ref()
        .filter(|status| is_of_this_attempt(status, report));
    let mean = mean_epoch(report, status);
    let last_progress_at = last_progress(report, status);
    let quiet = last_progress_at.map_or(TimeDelta::zero(), |at| report.at - at);
    let evidence = Evidence {
        report,
        engine,
        status,
        agent: agent_state(report),
        stalled: quiet > stall_limit(rule, mean, longest_epoch(report)),
    };
    let state = evidence.state();
    TrainingView {
        state,
        attempt: report.attempt,
        epoch: last_epoch(report, status),
        total_epochs: status.and_then(|status| status.total_epochs),
        best: status.and_then(best),
        eta_seconds: status
            .filter(|_| state == TrainingState::Running)
            .and_then(|status| milliseconds(status.eta_seconds))
            .map(|eta| eta / 1000),
        mean_epoch_milliseconds: mean,
        last_progress_at,
        started_at: report.training_started_at,
        ended_at: state.is_over().then(|| evidence.ended_at()).flatten(),
        error: evidence.error(state),
        exit_code: evidence.exit_code(),
        signal: evidence.signal(),
        agent: evidence.agent,
    }
}

struct Evidence<'a> {
    report: &'a BoxReport,
    engine: Engine,
    /// This attempt's, if there is one.
    status: Option<&'a Status>,
    agent: AgentState,
    stalled: bool,
}

impl Evidence<'_> {
    fn state(&self) -> TrainingState {
        if let Some(exit) = &self.report.exit {
            return self.after_exit(exit);
        }
        match &self.report.training {
            Some(training) if training.alive => self.while_alive(),
            Some(_) => self.found_dead(),
            None if self.report.attempt.is_none() => TrainingState::NotLaunched,
            // The agent is up and about to start it, or went before it could.
            None if self.agent == AgentState::Alive => TrainingState::Starting,
            None => TrainingState::NotLaunched,
        }
    }

    /// The exit report wins; `status.json` says whether there was time for a last word.
    fn after_exit(&self, exit: &ExitReport) -> TrainingState {
        let said = self.status.and_then(|status| status.state);
        match &exit.end {
            End::Unobserved => self.without_exit_status(),
            _ if said == Some(State::Failed) => TrainingState::Failed,
            _ if self.signal().is_some() => TrainingState::Killed,
            End::Exited { code: 0 } => match said {
                Some(State::Completed) => TrainingState::Completed,
                None if self.engine == Engine::Command => TrainingState::Completed,
                _ => TrainingState::Failed,
            },
            End::Exited { .. } | End::Signaled { .. } | End::NotStarted { .. } => {
                TrainingState::Failed
            }
        }
    }

    fn while_alive(&self) -> TrainingState {
        let said = self.status.and_then(|status| status.state);
        match said {
            // Nothing but its process and its exit code says anything about such a command.
            None if self.engine == Engine::Command => TrainingState::Running,
            // It said its last word and doesn't leave: the word counts.
            Some(State::Completed) if self.stalled => TrainingState::Completed,
            Some(State::Failed) if self.stalled => TrainingState::Failed,
            _ if self.stalled => TrainingState::Stalled,
            None => TrainingState::Starting,
            Some(State::Completed | State::Failed) => TrainingState::Running,
            Some(_) if last_epoch(self.report, self.status).is_none() => TrainingState::Starting,
            Some(_) => TrainingState::Running,
        }
    }

    fn found_dead(&self) -> TrainingState {
        let silent_by_nature = self.engine == Engine::Command && self.status.is_none();
        // Only the exit code can tell, and a living agent is about to report it.
        if silent_by_nature && self.agent == AgentState::Alive {
            return TrainingState::Running;
        }
        self.without_exit_status()
    }

    fn without_exit_status(&self) -> TrainingState {
        match self.status.and_then(|status| status.state) {
            Some(State::Completed) => TrainingState::Completed,
            Some(State::Failed) => TrainingState::Failed,
            Some(State::Running | State::Unknown) | None => TrainingState::Killed,
        }
    }

    /// The exit report's time; without one the last word, or the last sign of life.
    fn ended_at(&self) -> Option<DateTime<Utc>> {
        if let Some(exit) = &self.report.exit {
            return Some(exit.ended_at.min(self.report.at));
        }
        let last_word = self.status.and_then(|status| status.updated_at);
        let said_so = self
            .status
            .is_some_and(|status| matches!(status.state, Some(State::Completed | State::Failed)));
        let heartbeat = self
            .report
            .heartbeat
            .as_ref()
            .map(|heartbeat| heartbeat.written_at);
        let sign_of_life = [
            last_word,
            heartbeat.filter(|_| !said_so),
            self.report.training_started_at,
        ];
        sign_of_life
            .into_iter()
            .flatten()
            .max()
            .map(|at| at.min(self.report.at))
    }

    fn exit_code(&self) -> Option<i32> {
        match self.report.exit.as_ref()?.end {
            End::Exited { code } => Some(code),
            End::Signaled { .. } | End::NotStarted { .. } | End::Unobserved => None,
        }
    }

    /// The signal that ended it, also where a shell in between turned it into 128 + n.
    fn signal(&self) -> Option<i32> {
        match self.report.exit.as_ref()?.end {
            End::Signaled { signal, .. } => Some(signal),
            End::Exited { code } if (129..=159).contains(&code) => Some(code - 128),
            End::Exited { .. } | End::NotStarted { .. } | End::Unobserved => None,
        }
    }

    fn error(&self, state: TrainingState) -> Option<TrainingError> {
        if state != TrainingState::Failed {
            return None;
        }
        if let Some(error) = self.status.and_then(|status| status.error.as_ref()) {
            let (kind, message) = (error.kind.clone(), error.message.clone());
            return Some(TrainingError { kind, message });
        }
        let last_words = self.report.stderr_tail.trim();
        match &self.report.exit.as_ref()?.end {
            End::NotStarted { message } => Some(TrainingError {
                kind: "not started".to_owned(),
                message: message.clone(),
            }),
            End::Exited { code } => Some(TrainingError {
                kind: format!("exit code {code}"),
                message: match (last_words, code) {
                    ("", 0) => "it left without saying that it had completed".to_owned(),
                    ("", _) => "it said nothing on stderr".to_owned(),
                    (words, _) => words.to_owned(),
                },
            }),
            End::Signaled { .. } | End::Unobserved => None,
        }
    }
}

/// A `status.json` that an earlier attempt left behind says nothing about this one.
fn is_of_this_attempt(status: &Status, report: &BoxReport) -> bool {
    match (status.updated_at, report.training_started_at) {
        (Some(updated_at), Some(started_at)) => updated_at + STATUS_RESOLUTION >= started_at,
        (Some(_), None) => false,
        (None, _) => true,
    }
}

fn agent_state(report: &BoxReport) -> AgentState {
    let Some(heartbeat) = &report.heartbeat else {
        return match &report.agent {
            Some(agent) if agent.alive => AgentState::Alive,
            _ => AgentState::Missing,
        };
    };
    let limit = heartbeat
        .period_seconds
        .max(1)
        .saturating_mul(HEARTBEATS_MISSED);
    let fresh = report.at - heartbeat.written_at <= TimeDelta::seconds(i64::from(limit));
    let gone = report.agent.as_ref().is_some_and(|agent| !agent.alive);
    if fresh && !gone {
        AgentState::Alive
    } else {
        AgentState::Silent
    }
}

/// The training's own progress; a busy neighbour process on the box proves nothing.
fn last_progress(report: &BoxReport, status: Option<&Status>) -> Option<DateTime<Utc>> {
    let told = status.and_then(|status| status.updated_at);
    [told, report.last_progress_at, report.training_started_at]
        .into_iter()
        .flatten()
        .max()
}

/// `metrics.jsonl` counts truly after a resume and a failure, `status.json` doesn't.
fn last_epoch(report: &BoxReport, status: Option<&Status>) -> Option<u32> {
    let logged = report.history.as_ref().map(|history| history.last.epoch);
    let running = status.filter(|status| status.state == Some(State::Running));
    logged
        .max(running.and_then(|status| status.current_epoch))
        .filter(|epoch| *epoch > 0)
}

fn best(status: &Status) -> Option<Metric> {
    let name = status
        .best_metric_name
        .clone()
        .unwrap_or_else(|| "best".to_owned());
    Some(Metric {
        name,
        value: status.best_metric?,
    })
}

fn mean_epoch(report: &BoxReport, status: Option<&Status>) -> Option<u64> {
    let told = status.and_then(|status| milliseconds(status.mean_epoch_seconds));
    let logged = report
        .history
        .as_ref()
        .and_then(|history| history.mean_epoch_seconds);
    told.or_else(|| milliseconds(logged))
}

fn longest_epoch(report: &BoxReport) -> Option<u64> {
    milliseconds(report.history.as_ref()?.longest_epoch_seconds)
}

fn stall_limit(rule: StallRule, mean: Option<u64>, longest: Option<u64>) -> TimeDelta {
    let by_mean = mean.unwrap_or(0).saturating_mul(u64::from(rule.epochs));
    let by_longest = longest.unwrap_or(0).saturating_mul(LONGEST_EPOCHS);
    let limit = rule
        .seconds
        .saturating_mul(1000)
        .max(by_mean)
        .max(by_longest);
    i64::try_from(limit)
        .ok()
        .and_then(TimeDelta::try_milliseconds)
        .unwrap_or(TimeDelta::MAX)
}

/// `None` where the file held a negative or impossible number.
fn milliseconds(seconds: Option<f64>) -> Option<u64> {
    let duration = Duration::try_from_secs_f64(seconds?).ok()?;
    u64::try_from(duration.as_millis()).ok()
}

#[cfg(test)]
mod tests;
