//! Reasons in one line, with the numbers a pocket calculator needs.

use chrono::{DateTime, Utc};
use gpurun_pricing::budget::Cap;
use gpurun_pricing::{Hours, Offer};

use super::case::Case;
use crate::action::Action;
use crate::observation::{TrainingState, TrainingView};
use crate::run::Outcome;

pub(super) fn clock(at: DateTime<Utc>) -> String {
    at.format("%Y-%m-%d %H:%M UTC").to_string()
}

pub(super) fn since(case: &Case<'_>, at: DateTime<Utc>) -> String {
    case.hours_since(at).to_string()
}

pub(super) fn burns(case: &Case<'_>) -> String {
    format!("it costs {}", case.burn())
}

pub(super) fn running_rate(case: &Case<'_>) -> String {
    let (running, _) = case.rates();
    format!("running costs {running}")
}

pub(super) fn cap(case: &Case<'_>, cap: Cap) -> String {
    let stop = &case.run.spec.stop;
    match (cap, stop.max_cost, stop.max_hours) {
        (Cap::MaxCost, Some(max), _) => format!("{} spent, and the cap is {max}", case.spent()),
        (Cap::MaxHours, _, Some(max)) => {
            format!(
                "the box has run {}, and the cap is {max}",
                case.run.running_hours(case.now)
            )
        }
        _ => "a cap is reached".to_owned(),
    }
}

pub(super) fn cap_ahead(case: &Case<'_>, cap: Cap, left: Hours) -> String {
    let over = case.burn() * Hours::from_time_delta(case.poll());
    let bound = format!("ends at the next look after that, at most {over} later");
    match cap {
        Cap::MaxCost => {
            let max = case.run.spec.stop.max_cost.unwrap_or_default();
            format!(
                "{} of {max} spent at {}: reached in {left}; {bound}",
                case.spent(),
                case.burn()
            )
        }
        Cap::MaxHours => {
            let max = case.run.spec.stop.max_hours.unwrap_or_default();
            format!(
                "{} of {max} run: reached in {left}; {bound}",
                case.run.running_hours(case.now)
            )
        }
    }
}

pub(super) fn rent(case: &Case<'_>, lead: &str, offer: &Offer) -> String {
    let disk = case.run.spec.disk;
    format!(
        "{lead}: {} on {} at {} with {disk}",
        offer.gpu,
        offer.provider,
        offer.card.running_rate(disk)
    )
}

pub(super) fn set_up(case: &Case<'_>, steps: &[Action]) -> String {
    let steps: Vec<&str> = steps.iter().map(|step| step.step().describe()).collect();
    match steps.as_slice() {
        [] => format!("the box is set up; {}", burns(case)),
        steps => format!("still to do: {}; {}", steps.join(", "), burns(case)),
    }
}

pub(super) fn give_back(case: &Case<'_>, why: &str, goes_on: bool) -> String {
    let (running, _) = case.rates();
    let next = if goes_on {
        "the run goes on on another box"
    } else {
        "the run ends"
    };
    format!("{why}: given back, it would cost {running} for nothing; {next}")
}

/// What a box of no use has cost.
pub(super) fn lost(case: &Case<'_>, why: &str) -> String {
    let costs = case.run.costs(case.now);
    let lost = costs.last().map(|cost| cost.so_far).unwrap_or_default();
    format!("{why}; {lost} lost on it")
}

pub(super) fn lease(case: &Case<'_>, ready_at: DateTime<Utc>, until: DateTime<Utc>) -> String {
    let lease = case.run.spec.stop.lease;
    let (ready, end) = (since(case, ready_at), clock(until));
    format!(
        "no training; ready for {ready} of a lease of {lease} (until {end}); {}",
        burns(case)
    )
}

pub(super) fn training(case: &Case<'_>, view: &TrainingView) -> String {
    let epoch = match (view.epoch, view.total_epochs) {
        (Some(epoch), Some(total)) => format!("training, epoch {epoch} of {total}"),
        (Some(epoch), None) => format!("training, epoch {epoch}"),
        (None, _) if view.state == TrainingState::Starting => {
            "training, before its first epoch".to_owned()
        }
        (None, _) => "training".to_owned(),
    };
    match view.eta_seconds {
        Some(eta) => {
            let left =
                Hours::new(rust_decimal::Decimal::from(eta) / rust_decimal::Decimal::from(3600));
            let (rest, burn) = (case.burn() * left, case.burn());
            format!("{epoch}; about {left} left x {burn} = {rest}")
        }
        None => format!("{epoch}; {}", burns(case)),
    }
}

pub(super) fn stall(case: &Case<'_>, view: &TrainingView) -> String {
    let quiet = view
        .last_progress_at
        .map_or_else(|| "long".to_owned(), |at| since(case, at));
    let mean = match view.mean_epoch_milliseconds {
        Some(mean) => format!(", an epoch takes {} s", mean.div_ceil(1000)),
        None => String::new(),
    };
    format!(
        "stalled: the process lives, no progress for {quiet}{mean}; {}",
        burns(case)
    )
}

pub(super) fn outcome(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Completed => "the training completed",
        Outcome::Failed => "the training failed",
        Outcome::Killed => "the training was killed",
        Outcome::Stalled => "the training stalled and was ended",
        Outcome::Capped => "a cap ended the training",
        Outcome::Stopped => "you stopped the training",
        Outcome::Abandoned => "you ended the training",
        Outcome::LeaseOver => "the lease is over",
        Outcome::Vanished => "the provider took the box away",
        Outcome::NeverStarted => "no training was started",
    }
}

/// How it ended, with its last words.
pub(super) fn end(case: &Case<'_>, how: Outcome) -> String {
    let last = case.run.last_training.as_ref().map(|last| &last.value);
    let error = last.and_then(|view| view.error.as_ref());
    let signal = last.and_then(|view| view.signal);
    match (error, signal) {
        (Some(error), _) => format!(
            "{} ({}: {})",
            outcome(how),
            error.kind,
            first_line(&error.message)
        ),
        (None, Some(signal)) => format!("{} (signal {signal})", outcome(how)),
        (None, None) => outcome(how).to_owned(),
    }
}

fn first_line(text: &str) -> &str {
    text.trim().lines().last().unwrap_or_default()
}

pub(super) fn closing(case: &Case<'_>, how: Outcome) -> String {
    format!(
        "{}; the box is gone, read back; {} in all",
        outcome(how),
        case.spent()
    )
}

pub(super) fn stop_saves(case: &Case<'_>) -> String {
    let (running, stopped) = case.rates();
    format!("stopped it costs {stopped} instead of {running}")
}

pub(super) fn stopped_so_far(case: &Case<'_>, stopped_for: Hours) -> String {
    let (_, stopped) = case.rates();
    format!(
        "stopped for {stopped_for} x {stopped} = {}",
        stopped * stopped_for
    )
}

pub(super) fn stop_saved(case: &Case<'_>, stopped_for: Hours) -> String {
    let (running, stopped) = case.rates();
    let saved = running * stopped_for - stopped * stopped_for;
    format!("running on would have cost {saved} more")
}
