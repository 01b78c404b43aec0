//! One run in a row: what a person and a program want to know about it. Pure.

use crate::ui::format;
use chrono::{DateTime, TimeDelta, Utc};
use gpurun_lifecycle::{
    InstanceView, Intent, Observation, Outcome, Phase, Plan, RunRecord, Sighting, TrainingState,
    TrainingView, VerdictKind, Verified,
};
use gpurun_pricing::{HourlyRate, Money};
use serde::Serialize;

/// One run as `status --json` has it.
#[derive(Debug, Serialize)]
pub(crate) struct RunSummary {
    pub(crate) id: String,
    pub(crate) name: String,
    /// In a few words, for people; programs read the fields below.
    pub(crate) state: String,
    pub(crate) intent: Intent,
    pub(crate) phase: Phase,
    pub(crate) outcome: Option<Outcome>,
    pub(crate) training: Option<TrainingView>,
    pub(crate) provider: String,
    pub(crate) gpu: String,
    pub(crate) instance: Option<String>,
    pub(crate) instance_state: &'static str,
    pub(crate) created_at: DateTime<Utc>,
    pub(crate) ended_at: Option<DateTime<Utc>>,
    /// In $/h, as a number that a script can add up.
    #[serde(serialize_with = "format::rate")]
    pub(crate) burn_per_hour: HourlyRate,
    /// In $.
    #[serde(serialize_with = "format::money")]
    pub(crate) so_far: Money,
    /// Of `so_far`, in $: the time in which nobody knows whether a box was still there.
    #[serde(serialize_with = "format::money")]
    pub(crate) estimated: Money,
    /// Newest checkpoint proven to be off the box.
    pub(crate) verified: Option<Verified>,
    pub(crate) verdict: Option<VerdictKind>,
    pub(crate) reason: Option<String>,
    pub(crate) next: String,
    pub(crate) attention: Vec<String>,
}

impl RunSummary {
    /// What is known of `run`; the look is a fresh one, where there was one, and the plan the newest.
    pub(crate) fn new(
        run: &RunRecord,
        observation: Option<&Observation>,
        plan: Option<&Plan>,
        now: DateTime<Utc>,
    ) -> Self {
        let training = run.last_training.as_ref().map(|last| last.value.clone());
        Self {
            id: run.id.clone(),
            name: run.name.clone(),
            state: state(run, observation),
            intent: run.intent,
            phase: run.phase,
            outcome: run.ended.as_ref().map(|ended| ended.outcome),
            training,
            provider: run.spec.provider.clone(),
            gpu: gpu(run),
            instance: run.instance.as_ref().map(|instance| instance.id.clone()),
            instance_state: instance_word(run, observation),
            created_at: run.created_at,
            ended_at: run.ended.as_ref().map(|ended| ended.at),
            burn_per_hour: run.burn(now),
            so_far: run.spent(now),
            estimated: run.estimated(now),
            verified: run
                .last_checkpoints
                .as_ref()
                .and_then(|last| last.value.newest_verified.clone()),
            verdict: plan.map(|plan| plan.verdict.kind),
            reason: plan.map(|plan| plan.verdict.reason.clone()),
            next: plan.map_or_else(String::new, |plan| next(run, plan, now)),
            attention: plan.map_or_else(Vec::new, |plan| {
                plan.attention
                    .iter()
                    .map(|attention| format!("{}; {}", attention.message, attention.remedy))
                    .collect()
            }),
        }
    }

    /// The cells of the status table.
    pub(crate) fn row(&self, short_id: &str) -> Vec<String> {
        let dash = || "–".to_owned();
        let training = self.training.as_ref();
        let epoch = training
            .and_then(|training| Some((training.epoch?, training.total_epochs?)))
            .map_or_else(dash, |(epoch, total)| format!("{epoch}/{total}"));
        let best = training
            .and_then(|training| training.best.as_ref())
            .map_or_else(dash, |best| format!("{:.3}", best.value));
        vec![
            short_id.to_owned(),
            format::clip(&self.name, 16),
            format::clip(&self.state, 20),
            format!("{} {}", self.provider, self.gpu),
            epoch,
            best,
            self.burn_per_hour.figure(),
            self.spent(),
        ]
    }

    /// "15.83"; "≤15.83" where some of it is estimated.
    fn spent(&self) -> String {
        let bound = if self.estimated.as_shown().is_zero() {
            ""
        } else {
            "≤"
        };
        format!("{bound}{}", self.so_far.figure())
    }

    /// "ETA 7 h 12 min · destroy in 4 h 50 min (break-even)"; `None` for a run that is over.
    pub(crate) fn what_is_next(&self) -> Option<String> {
        let eta = self
            .training
            .as_ref()
            .and_then(|training| training.eta_seconds)
            .filter(|_| self.outcome.is_none())
            .and_then(|eta| i64::try_from(eta).ok())
            .map(|eta| format!("ETA {}", format::span(TimeDelta::seconds(eta))));
        let next = Some(self.next.clone()).filter(|next| !next.is_empty());
        let words: Vec<String> = eta.into_iter().chain(next).collect();
        (!words.is_empty()).then(|| words.join(" · "))
    }
}

/// "4090x8", or "cpu".
fn gpu(run: &RunRecord) -> String {
    run.spec
        .offers
        .first()
        .map_or_else(|| "?".to_owned(), |offer| offer.gpu.to_string())
}

fn state(run: &RunRecord, seen: Option<&Observation>) -> String {
    let training = match run.ended.as_ref().map(|ended| ended.outcome) {
        Some(outcome) => outcome_word(outcome).to_owned(),
        None => live_word(run),
    };
    match instance_word(run, seen) {
        "running" | "absent" => training,
        "stopped" if training.starts_with("stopped") => training,
        word => format!("{training}, {word}"),
    }
}

fn live_word(run: &RunRecord) -> String {
    let state = run.last_training.as_ref().map(|last| last.value.state);
    match (run.phase, state) {
        (Phase::Requested, _) if run.rent_pending_since.is_some() => "renting".to_owned(),
        (Phase::Requested, _) => "requested".to_owned(),
        (Phase::Launched, Some(TrainingState::Running)) => "training".to_owned(),
        (Phase::Launched, Some(TrainingState::Stalled)) => "stalled".to_owned(),
        (Phase::Launched, Some(TrainingState::Completed)) => "completed".to_owned(),
        (Phase::Launched, Some(TrainingState::Failed)) => "failed".to_owned(),
        (Phase::Launched, Some(TrainingState::Killed)) => "killed".to_owned(),
        (Phase::Launched, _) => "starting".to_owned(),
        (Phase::Ended, _) => "ended".to_owned(),
        _ if run.ready_at.is_some() => "ready".to_owned(),
        (Phase::Rented, _) => "installing".to_owned(),
        (Phase::Installed, _) => "proving".to_owned(),
        (Phase::Proved, _) => "staging".to_owned(),
        (Phase::Staged, _) => "launching".to_owned(),
    }
}

/// The outcome as a person says it.
pub(crate) fn outcome_word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Completed => "completed",
        Outcome::Failed => "failed",
        Outcome::Killed => "killed",
        Outcome::Stalled => "stalled",
        Outcome::Capped => "ended by a cap",
        Outcome::Stopped => "stopped by you",
        Outcome::Abandoned => "ended by you",
        Outcome::LeaseOver => "lease over",
        Outcome::Vanished => "box vanished",
        Outcome::NeverStarted => "never started",
    }
}

fn instance_word(run: &RunRecord, seen: Option<&Observation>) -> &'static str {
    match seen.map(|seen| &seen.instance) {
        Some(Sighting::Seen {
            value: InstanceView::Several { .. },
            ..
        }) => "twice",
        Some(Sighting::Seen { value, .. }) => crate::observe::word(value),
        Some(Sighting::Unknown { .. }) => "unseen",
        None if run.instance.is_none() => "absent",
        None => "unseen",
    }
}

fn next(run: &RunRecord, plan: &Plan, now: DateTime<Utc>) -> String {
    if run.phase == Phase::Ended {
        return String::new();
    }
    if let Some(action) = plan.actions.first() {
        return action.step().describe().to_owned();
    }
    let next = plan
        .waits
        .iter()
        .filter_map(|wait| Some((wait.until?, &wait.on)))
        .min();
    match next {
        Some((until, on)) if ["break-even", "lease"].contains(&on.as_str()) => {
            format!("destroy {} ({on})", format::relative(until, now))
        }
        Some((until, on)) => format!("{on} {}", format::relative(until, now)),
        None => plan
            .waits
            .first()
            .map(|wait| wait.on.clone())
            .unwrap_or_default(),
    }
}
