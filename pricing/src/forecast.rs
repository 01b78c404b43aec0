//! The whole answer to "what does this box cost, and when do I stop it?", with every sum spelt out.

use serde::Serialize;

use crate::break_even::{Gap, RebuildTerms, RestartOdds, StopCosts, Verdict, decide, worth_sum};
use crate::money::{HourlyRate, Money, as_quoted};
use crate::quantity::{Gigabytes, Hours, Probability};
use crate::rate_card::{RateCard, StopSupport};

/// What is asked.
#[derive(Clone, Debug)]
pub struct Question<'a> {
    pub card: &'a RateCard,
    pub disk: Gigabytes,
    pub terms: &'a RebuildTerms,
    /// That a restart finds its GPUs.
    pub restart: Probability,
    /// `None`: not known.
    pub gap: Option<Hours>,
}

/// What is answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Forecast {
    pub running: HourlyRate,
    /// `None` where the provider has no stop.
    pub stopped: Option<HourlyRate>,
    pub destroyed: HourlyRate,
    pub rebuild: Money,
    /// What a kept disk is worth: the most that its keeping may cost.
    pub worth: Money,
    pub break_even: Option<Hours>,
    pub verdict: Verdict,
    pub sums: Sums,
}

/// Each figure with the numbers it comes from, as one would type them into a calculator. A figure without a sum has
/// none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Sums {
    /// Only where the disk is quoted apart from the box.
    pub running: Option<String>,
    pub stopped: Option<String>,
    pub rebuild: String,
    pub resume: Option<String>,
    /// Only where it isn't simply the rebuild cost.
    pub worth: Option<String>,
    pub break_even: Option<String>,
}

/// Answers. Total, like [`decide`].
pub fn forecast(question: &Question<'_>) -> Forecast {
    let costs = StopCosts::new(question.card, question.disk, question.terms);
    let odds = RestartOdds::constant(question.restart);
    let verdict = decide(
        &costs,
        &odds,
        question.gap.map_or(Gap::Unknown, Gap::Declared),
    );
    let stops = question.card.stop.exists();
    Forecast {
        running: costs.running,
        stopped: stops.then_some(costs.stopped),
        destroyed: HourlyRate::ZERO,
        rebuild: costs.rebuild,
        worth: costs.worth(question.restart),
        break_even: verdict.break_even,
        sums: sums(question, &costs, verdict.break_even),
        verdict,
    }
}

fn sums(question: &Question<'_>, costs: &StopCosts, break_even: Option<Hours>) -> Sums {
    let Question {
        card,
        disk,
        terms,
        restart,
        ..
    } = question;
    let worth = costs.worth(*restart);
    let worth_sum = worth_sum(costs, *restart);
    let stops = card.stop.exists();
    let per_hour = |price| format!("{disk} x ${} / {}", as_quoted(price), card.hours_per_month);
    let running = (!card.disk_running.is_zero()).then(|| {
        format!(
            "{} + {} = {}",
            card.running,
            per_hour(card.disk_running.amount()),
            costs.running
        )
    });
    let resume_time = match card.stop {
        StopSupport::KeepsVolumeOnly if terms.resume.is_zero() => terms.setup.in_sum(),
        StopSupport::KeepsVolumeOnly => {
            format!("({} + {})", terms.resume.in_sum(), terms.setup.in_sum())
        }
        StopSupport::KeepsDisk | StopSupport::None => terms.resume.in_sum(),
    };
    let traffic = match (card.inbound * terms.inbound).is_zero() {
        true => String::new(),
        false => format!(" + {} x {}", terms.inbound, card.inbound),
    };
    Sums {
        running,
        stopped: stops.then(|| {
            format!(
                "{} = {}",
                per_hour(card.disk_stopped.amount()),
                costs.stopped
            )
        }),
        rebuild: format!(
            "{} x {}{traffic} = {}",
            terms.setup.in_sum(),
            costs.running,
            costs.rebuild
        ),
        resume: (stops && !costs.resume.is_zero())
            .then(|| format!("{resume_time} x {} = {}", costs.running, costs.resume)),
        worth: (stops && worth_sum != worth.to_string()).then_some(worth_sum),
        break_even: break_even
            .filter(|hours| !hours.is_zero())
            .map(|hours| format!("{worth} / {} = {hours}", costs.stopped)),
    }
}

#[cfg(test)]
mod tests;
