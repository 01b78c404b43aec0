//! The five figures a decision needs.

use serde::{Deserialize, Serialize};

use super::restart::RestartOdds;
use crate::money::{HourlyRate, Money};
use crate::quantity::{Gigabytes, Hours, Probability};
use crate::rate_card::{RateCard, StopSupport};

/// What coming back takes, beside the rates.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RebuildTerms {
    /// From renting a new box to training: boot, image, installation, staging.
    pub setup: Hours,
    /// From starting the stopped box to training.
    pub resume: Hours,
    /// What a failed restart costs before one knows that it failed.
    pub retry: Money,
    /// What a new box has to download.
    pub inbound: Gigabytes,
}

/// What a box costs in each state and what each way back costs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StopCosts {
    /// The whole box while it runs.
    pub running: HourlyRate,
    /// s: its disk while it is stopped.
    pub stopped: HourlyRate,
    /// R: from nothing to training.
    pub rebuild: Money,
    /// Q: from stopped to training.
    pub resume: Money,
    /// F: for a restart that fails.
    pub retry: Money,
    pub stop: StopSupport,
}

impl StopCosts {
    /// From a provider's prices. Where a stop keeps only a volume, a resume pays for the set-up again.
    pub fn new(card: &RateCard, disk: Gigabytes, terms: &RebuildTerms) -> Self {
        let running = card.running_rate(disk);
        let resume = match card.stop {
            StopSupport::KeepsVolumeOnly => terms.resume + terms.setup,
            StopSupport::KeepsDisk | StopSupport::None => terms.resume,
        };
        Self {
            running,
            stopped: card.stopped_rate(disk),
            rebuild: running * terms.setup + card.inbound * terms.inbound,
            resume: running * resume,
            retry: terms.retry,
            stop: card.stop,
        }
    }

    /// W at a restart probability of `chance`: the disk money that a kept disk is worth.
    pub fn worth(&self, chance: Probability) -> Money {
        (self.rebuild - self.resume) * chance.amount() - self.retry * chance.complement().amount()
    }

    /// What coming back to a stopped box costs on average, disk money aside: p*Q + (1 - p)*(R + F).
    pub fn comeback(&self, chance: Probability) -> Money {
        self.resume * chance.amount() + (self.rebuild + self.retry) * chance.complement().amount()
    }

    /// The longest gap for which a stop is the better one: where s*g meets W(g). `None` where a stop is better for
    /// ever, since the stopped disk is free; zero where it never is.
    pub fn break_even(&self, odds: &RestartOdds) -> Option<Hours> {
        let mut reached = Hours::ZERO;
        for step in odds.steps() {
            let worth = self.worth(step.chance);
            if worth <= Money::ZERO {
                return Some(reached);
            }
            // Beyond what a decimal holds is for ever, as it is at no price at all.
            let meets = worth.lasts_at(self.stopped);
            match (meets, step.until) {
                (Some(meets), _) if meets <= reached => return Some(reached),
                (Some(meets), Some(until)) if meets > until => reached = until,
                (Some(meets), _) => return Some(meets),
                (None, Some(until)) => reached = until,
                (None, None) => return None,
            }
        }
        Some(reached)
    }
}
