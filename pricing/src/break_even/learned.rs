//! A threshold from the person's own past gaps, kept where its worst case is known.
//!
//! Ski rental destroys when the disk money reaches W, at the break-even gap T. Trusting history, the threshold may move
//! within [lambda*T, T/lambda]. Whatever happens it then costs at most 1 + 1/lambda times the best choice (for a person
//! who does return; one who never does loses at most W/lambda), and at most 1 + lambda times if history holds and the
//! restart probability is the same for every gap. Where it falls with the gap, the interval shrinks until the first
//! bound holds.

use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};

use super::costs::StopCosts;
use super::restart::RestartOdds;
use crate::decimal_unit::QuantityError;
use crate::money::Money;
use crate::quantity::{Hours, Probability};

/// Fewer past gaps than this say nothing yet, and ski rental decides.
pub const MIN_HISTORY: usize = 5;

/// How a past pause ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PastGap {
    Returned(Hours),
    /// The box was never wanted again.
    Never,
}

/// lambda, above 0 and at most 1: near 0 follows history wherever it leads, 1 is ski rental whatever it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Probability")]
pub struct Trust(Probability);

/// One half: at most 1.5x the best when the history holds, at most 3x when it doesn't.
impl Default for Trust {
    fn default() -> Self {
        Self(Probability::new(rust_decimal_macros::dec!(0.5)).expect("one half is a probability"))
    }
}

impl Trust {
    /// # Errors
    /// For zero, which would have no worst case at all.
    pub fn new(lambda: Probability) -> Result<Self, QuantityError> {
        if lambda == Probability::NEVER {
            let range = "above 0 and at most 1";
            return Err(QuantityError::OutOfRange {
                input: "0".into(),
                what: "lambda",
                range,
            });
        }
        Ok(Self(lambda))
    }

    pub fn lambda(self) -> Probability {
        self.0
    }
}

impl TryFrom<Probability> for Trust {
    type Error = QuantityError;
    fn try_from(lambda: Probability) -> Result<Self, QuantityError> {
        Self::new(lambda)
    }
}

/// The stopped time after which destroying costs least on average over `gaps`, clamped. `None` where history is too
/// short, or where it has nothing to say: no stop, a stop never worth it, or a stopped disk that costs nothing.
pub(super) fn threshold(
    costs: &StopCosts,
    odds: &RestartOdds,
    gaps: &[PastGap],
    trust: Trust,
) -> Option<Hours> {
    let enough = gaps.len() >= MIN_HISTORY && costs.stop.exists();
    let break_even = costs
        .break_even(odds)
        .filter(|threshold| enough && !threshold.is_zero())?;
    let lambda = trust.lambda().amount();
    let earliest = earliest(costs, odds, break_even, lambda);
    let latest = Hours::new(break_even.amount().checked_div(lambda)?);
    // Beyond break-even nothing more is needed: a gap is only waited for where that costs less than destroying at an
    // earlier candidate, so at most s*T/lambda + R.
    // Between two past gaps waiting longer only costs more, so the best threshold is the earliest allowed or just
    // lets one of the past gaps return to its disk.
    let returns = gaps.iter().filter_map(|gap| match gap {
        PastGap::Returned(gap) => Some(*gap),
        PastGap::Never => None,
    });
    let candidates = returns.filter(|gap| *gap > earliest && *gap <= latest);
    std::iter::once(earliest)
        .chain(candidates)
        .min_by_key(|threshold| (total(costs, odds, gaps, *threshold), *threshold))
}

/// The shortest threshold t whose worst case, a return right after it, keeps the bound:
/// s*t + R <= (1 + 1/lambda) * (s*t + comeback). For a constant p, lambda*T is always enough.
fn earliest(costs: &StopCosts, odds: &RestartOdds, break_even: Hours, lambda: Decimal) -> Hours {
    let shortest = break_even * lambda;
    let mut begins = Hours::ZERO;
    for step in odds.steps() {
        let short_of =
            costs.rebuild * lambda - costs.comeback(step.chance) * (lambda + Decimal::ONE);
        let needed = short_of
            .lasts_at(costs.stopped)
            .unwrap_or(break_even)
            .max(begins)
            .max(shortest);
        match step.until {
            Some(until) if needed > until => begins = until,
            _ => return needed.min(break_even),
        }
    }
    break_even
}

/// What `gaps` would have cost, all together, with destroying after `threshold`.
pub(super) fn total(
    costs: &StopCosts,
    odds: &RestartOdds,
    gaps: &[PastGap],
    threshold: Hours,
) -> Money {
    let cost = |gap: &PastGap| match gap {
        PastGap::Returned(gap) if *gap <= threshold => {
            costs.stopped * *gap + costs.comeback(odds.after(*gap))
        }
        PastGap::Returned(_) => costs.stopped * threshold + costs.rebuild,
        PastGap::Never => costs.stopped * threshold,
    };
    gaps.iter().map(cost).sum()
}
