//! Stop, destroy or keep: the decision, with the sums that led to it.
//!
//! ```text
//! stopped_rate   s = allocated_GB * disk_stopped / hours_per_month            $/h
//! rebuild        R = setup_hours * running + inbound_GB * inbound             $
//! resume         Q = resume_hours * running                                   $
//! retry          F = what a failed restart costs before one knows             $
//! stop    costs  s*g + p(g)*Q + (1 - p(g))*(R + F)     for a gap of g hours
//! destroy costs  R
//! W(g)           = p(g)*(R - Q) - (1 - p(g))*F         worth of the kept disk: stop is better while s*g < W(g)
//! ```
//!
//! The gap is declared (compare), unknown (ski rental) or has a history (learned, clamped).

mod costs;
mod decide;
mod learned;
mod reason;
mod restart;

pub use costs::{RebuildTerms, StopCosts};
pub use decide::{Action, Compared, Gap, Rule, Verdict, decide};
pub use learned::{MIN_HISTORY, PastGap, Trust};
pub use reason::worth_sum;
pub use restart::{RestartOdds, RestartStep};

#[cfg(test)]
mod tests;
