//! What the whole job would cost, before it runs.

use gpurun_pricing::estimate::{JobShape, TrainingTime};
use gpurun_pricing::{Gigabytes, Hours, RebuildTerms};
use rust_decimal_macros::dec;

/// The job's shape: set-up from the rebuild terms, and the cap on hours where nobody knows how long the
/// training takes, so that the total is an upper bound.
pub(crate) fn shape(rebuild: &RebuildTerms, max_hours: Option<Hours>, disk: Gigabytes) -> JobShape {
    JobShape {
        setup: rebuild.setup,
        // Within the set-up's hours, as measured.
        staging: Hours::ZERO,
        training: TrainingTime::AtMost(max_hours.unwrap_or(Hours::new(dec!(24)))),
        teardown: Hours::ZERO,
        disk,
        inbound: rebuild.inbound,
        outbound: Gigabytes::ZERO,
    }
}
