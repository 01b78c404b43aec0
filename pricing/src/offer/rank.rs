//! Which offer the job costs least on.

use super::{Offer, OfferFilter, Rejection};
use crate::estimate::{Estimate, JobShape, estimate, total};
use crate::gpu::GpuRequest;
use crate::money::Money;
use crate::quantity::Probability;

/// An offer and what the job would cost on it, all in: compute, disk and traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RankedOffer<'a> {
    pub offer: &'a Offer,
    /// Equal to the total of [`RankedOffer::estimate`].
    pub total: Money,
}

/// The offers that will do, and the others with the reason.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection<'a> {
    /// Cheapest job first; of two that cost the same the more reliable, then by name, so that the order never depends on
    /// which provider answered first.
    pub ranked: Vec<RankedOffer<'a>>,
    pub rejected: Vec<(&'a Offer, Rejection)>,
}

impl RankedOffer<'_> {
    /// The sum behind the total.
    pub fn estimate(&self, job: &JobShape) -> Estimate {
        estimate(&self.offer.card, job)
    }
}

/// Sorts offers out by `filter`, and ranks those that are left.
pub fn select<'a>(
    offers: &'a [Offer],
    wanted: &GpuRequest,
    job: &JobShape,
    filter: &OfferFilter,
) -> Selection<'a> {
    let mut selection = Selection::default();
    for offer in offers {
        match filter.rejection(offer, wanted, job) {
            Some(reason) => selection.rejected.push((offer, reason)),
            None => selection.ranked.push(RankedOffer {
                offer,
                total: total(&offer.card, job),
            }),
        }
    }
    let reliability = |ranked: &RankedOffer<'_>| {
        let measured = ranked.offer.reliability;
        measured.unwrap_or(Probability::NEVER)
    };
    selection.ranked.sort_by(|left, right| {
        left.total
            .cmp(&right.total)
            .then_with(|| reliability(right).cmp(&reliability(left)))
            .then_with(|| {
                (&left.offer.provider, &left.offer.id)
                    .cmp(&(&right.offer.provider, &right.offer.id))
            })
    });
    selection
}

#[cfg(test)]
mod tests {
    use rust_decimal::Decimal;
    use rust_decimal_macros::dec;

    use super::*;
    use crate::estimate::TrainingTime;
    use crate::money::{GigabyteRate, HourlyRate, Money};
    use crate::quantity::{Gigabytes, Hours, HoursPerMonth, Probability};
    use crate::rate_card::tests::measured;

    fn offer(id: &str, gpu: &str, running: Decimal, inbound: Decimal) -> Offer {
        let mut card = measured(HoursPerMonth::THIRTY_DAYS);
        card.running = HourlyRate::new(running);
        card.inbound = GigabyteRate::new(inbound);
        Offer::new("vast", id, gpu.parse().expect("a GPU of the table"), card)
    }

    fn job(hours: Decimal) -> JobShape {
        JobShape {
            setup: Hours::ZERO,
            staging: Hours::ZERO,
            training: TrainingTime::Expected(Hours::new(hours)),
            teardown: Hours::ZERO,
            disk: Gigabytes::new(dec!(250)),
            inbound: Gigabytes::new(dec!(43)),
            outbound: Gigabytes::ZERO,
        }
    }

    fn order(offers: &[Offer], hours: Decimal) -> Vec<String> {
        let wanted = "4090x8".parse().expect("a GPU of the table");
        select(offers, &wanted, &job(hours), &OfferFilter::default())
            .ranked
            .into_iter()
            .map(|ranked| ranked.offer.id.clone())
            .collect()
    }

    #[test]
    fn the_job_decides_and_not_the_hour() {
        let offers = [
            offer("cheap hour, dear traffic", "4090x8", dec!(3.00), dec!(0.05)),
            offer("dear hour, free traffic", "4090x8", dec!(3.40), dec!(0)),
            offer("half the box", "4090x4", dec!(1.00), dec!(0)),
        ];
        assert_eq!(
            order(&offers, dec!(2)),
            ["dear hour, free traffic", "cheap hour, dear traffic"]
        );
        assert_eq!(
            order(&offers, dec!(20)),
            ["cheap hour, dear traffic", "dear hour, free traffic"]
        );
    }

    #[test]
    fn equal_offers_keep_one_order() {
        let mut offers = [
            offer("b", "4090x8", dec!(3), dec!(0)),
            offer("a", "4090x8", dec!(3), dec!(0)),
            offer("c", "4090x8", dec!(3), dec!(0)),
        ];
        offers[2].reliability = Some(Probability::CERTAIN);
        assert_eq!(order(&offers, dec!(1)), ["c", "a", "b"]);
        offers.reverse();
        assert_eq!(order(&offers, dec!(1)), ["c", "a", "b"]);
        assert_eq!(
            select(
                &offers,
                &"4090x8".parse().expect("a GPU"),
                &job(dec!(1)),
                &OfferFilter::default()
            )
            .ranked[0]
                .total,
            Money::new(dec!(3))
        );
    }
}
