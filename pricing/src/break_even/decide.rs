//! From costs, odds and what is known of the gap to one verdict.

use serde::Serialize;

use super::costs::StopCosts;
use super::learned::{self, PastGap, Trust};
use super::reason;
use super::restart::RestartOdds;
use crate::money::Money;
use crate::quantity::Hours;

/// What is known of the time until the box is wanted again.
#[derive(Clone, Copy, Debug)]
pub enum Gap<'a> {
    /// The person said it.
    Declared(Hours),
    /// Nothing: ski rental.
    Unknown,
    /// The person's own past gaps, and how far they may move the threshold away from ski rental's.
    History { gaps: &'a [PastGap], trust: Trust },
}

/// What to do with a box whose work is done and safe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase", tag = "action")]
pub enum Action {
    /// Leave it running: for so short a gap anything else costs more.
    Keep,
    /// Stop it now, and destroy it once it has been stopped for `destroy_after`; never where that is `None`.
    Stop {
        destroy_after: Option<Hours>,
    },
    Destroy,
}

/// By which rule it was decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// The gap was declared: the costs are compared.
    BreakEven,
    SkiRental,
    Learned,
}

/// What each choice costs over a declared gap, on average over whether a restart works.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Compared {
    pub keep: Money,
    /// `None` where the provider has no stop.
    pub stop: Option<Money>,
    pub destroy: Money,
}

/// The decision and its sums.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Verdict {
    #[serde(flatten)]
    pub action: Action,
    pub rule: Rule,
    /// Up to which gap a stop is better than a rebuild; `None` where it is for ever, or there is no stop.
    pub break_even: Option<Hours>,
    /// For a declared gap.
    pub compared: Option<Compared>,
    /// One line that a pocket calculator can check.
    pub reason: String,
}

/// Decides. Total: every combination of inputs has a verdict, and no money is ever a float.
pub fn decide(costs: &StopCosts, odds: &RestartOdds, gap: Gap<'_>) -> Verdict {
    let break_even = costs
        .stop
        .exists()
        .then(|| costs.break_even(odds))
        .flatten();
    match gap {
        Gap::Declared(gap) => declared(costs, odds, gap, break_even),
        Gap::Unknown => unknown(costs, odds, break_even),
        Gap::History { gaps, trust } => match learned::threshold(costs, odds, gaps, trust) {
            Some(threshold) => {
                let reason = reason::learned(costs, odds, threshold, gaps.len(), trust);
                let action = Action::Stop {
                    destroy_after: Some(threshold),
                };
                Verdict {
                    action,
                    rule: Rule::Learned,
                    break_even,
                    compared: None,
                    reason,
                }
            }
            None => unknown(costs, odds, break_even),
        },
    }
}

fn declared(
    costs: &StopCosts,
    odds: &RestartOdds,
    gap: Hours,
    break_even: Option<Hours>,
) -> Verdict {
    let compared = Compared {
        keep: costs.running * gap,
        stop: costs
            .stop
            .exists()
            .then(|| costs.stopped * gap + costs.comeback(odds.after(gap))),
        destroy: costs.rebuild,
    };
    // On equal costs the one with less left to go wrong: a destroyed box can't surprise anybody.
    let action = match compared.stop {
        _ if compared.keep < compared.destroy
            && compared.stop.is_none_or(|stop| compared.keep < stop) =>
        {
            Action::Keep
        }
        // Should the person not come back in time after all, ski rental's bound holds from the stop on.
        Some(stop) if stop < compared.destroy => Action::Stop {
            destroy_after: break_even,
        },
        _ => Action::Destroy,
    };
    let reason = reason::declared(costs, odds, gap, &compared, action);
    Verdict {
        action,
        rule: Rule::BreakEven,
        break_even,
        compared: Some(compared),
        reason,
    }
}

fn unknown(costs: &StopCosts, odds: &RestartOdds, break_even: Option<Hours>) -> Verdict {
    let action = match break_even {
        _ if !costs.stop.exists() => Action::Destroy,
        Some(threshold) if threshold.is_zero() => Action::Destroy,
        threshold => Action::Stop {
            destroy_after: threshold,
        },
    };
    let reason = reason::unknown(costs, odds, action);
    Verdict {
        action,
        rule: Rule::SkiRental,
        break_even,
        compared: None,
        reason,
    }
}

impl Action {
    /// Whether a box that has been stopped for `stopped_for` should be destroyed now.
    pub fn destroy_is_due(&self, stopped_for: Hours) -> bool {
        match self {
            Self::Keep => false,
            Self::Stop { destroy_after } => {
                destroy_after.is_some_and(|threshold| stopped_for >= threshold)
            }
            Self::Destroy => true,
        }
    }
}
