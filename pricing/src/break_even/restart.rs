//! p(g): how likely a box that was stopped for g hours finds its GPUs free again.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::quantity::{Hours, Probability};

/// A step function of the gap that never rises: GPUs that were given up don't become freer by waiting.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RestartOdds(Vec<RestartStep>);

/// The chance that holds for gaps up to and including `until`, from the end of the step before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RestartStep {
    /// `None`: for every longer gap. Only the last step has it.
    pub until: Option<Hours>,
    pub chance: Probability,
}

/// Steps that are no such function.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RestartOddsError {
    #[error(
        "no step says how likely a restart is after the longest gap: leave `until` out of the last one"
    )]
    Unbounded,
    #[error("step {0} ends no later than the one before it: order the steps by `until`")]
    Order(usize),
    #[error(
        "step {0} is likelier than the one before it: a longer gap can't make a restart likelier"
    )]
    Rising(usize),
}

impl RestartOdds {
    /// The same chance for every gap.
    pub fn constant(chance: Probability) -> Self {
        Self(vec![RestartStep {
            until: None,
            chance,
        }])
    }

    /// # Errors
    /// Where the steps are not ordered, rise, or leave long gaps out.
    pub fn from_steps(steps: Vec<RestartStep>) -> Result<Self, RestartOddsError> {
        let last = steps.last().ok_or(RestartOddsError::Unbounded)?;
        if last.until.is_some() {
            return Err(RestartOddsError::Unbounded);
        }
        for (index, pair) in steps.windows(2).enumerate() {
            let longer = match (pair[0].until, pair[1].until) {
                (None, _) => false,
                (Some(_), None) => true,
                (Some(before), Some(after)) => before < after,
            };
            if !longer {
                return Err(RestartOddsError::Order(index + 2));
            }
            if pair[1].chance > pair[0].chance {
                return Err(RestartOddsError::Rising(index + 2));
            }
        }
        Ok(Self(steps))
    }

    pub fn steps(&self) -> &[RestartStep] {
        &self.0
    }

    /// p(g).
    pub fn after(&self, gap: Hours) -> Probability {
        let step = self
            .0
            .iter()
            .find(|step| step.until.is_none_or(|until| gap <= until));
        step.map_or(Probability::NEVER, |step| step.chance)
    }

    /// The one chance, where there is only one.
    pub fn as_constant(&self) -> Option<Probability> {
        match self.0.as_slice() {
            [only] => Some(only.chance),
            _ => None,
        }
    }
}

impl<'de> Deserialize<'de> for RestartOdds {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::from_steps(Vec::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}
