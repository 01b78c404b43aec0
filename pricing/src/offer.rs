//! What a provider has to rent, ranked by what the whole job would cost on it.

use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};

use crate::estimate::{Estimate, JobShape, estimate};
use crate::gpu::{CudaVersion, GpuRequest};
use crate::quantity::{Gigabytes, Hours, Probability};
use crate::rate_card::RateCard;

/// One box that can be rented now, at one price.
///
/// What a provider doesn't say is `None`: unknown, never assumed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offer {
    pub provider: String,
    /// What the provider calls it; the rent call takes it back.
    pub id: String,
    pub gpu: GpuRequest,
    pub region: Option<String>,
    /// How often this host keeps what it promises, as the provider measures it.
    pub reliability: Option<Probability>,
    pub card: RateCard,
    /// The machine behind the offer, to stay away from once it was bad.
    #[serde(default)]
    pub host: Option<String>,
    #[serde(default)]
    pub market: Market,
    /// Whether the provider vouches for the machine.
    #[serde(default)]
    pub verified: Option<bool>,
    /// Whether it stands in a data centre.
    #[serde(default)]
    pub datacenter: Option<bool>,
    /// The newest CUDA its driver runs.
    #[serde(default)]
    pub cuda: Option<CudaVersion>,
    /// Mbit/s from the internet.
    #[serde(default)]
    pub download: Option<Decimal>,
    /// Mbit/s to the internet.
    #[serde(default)]
    pub upload: Option<Decimal>,
    /// How long the host is still let, after which a box on it ends.
    #[serde(default)]
    pub remaining: Option<Hours>,
    /// The largest disk that can be rented with it.
    #[serde(default)]
    pub disk_available: Option<Gigabytes>,
}

/// On what terms a box is let.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Market {
    /// Ours until we give it back.
    #[default]
    OnDemand,
    /// Cheaper, and taken away when someone pays more.
    Interruptible,
}

impl Offer {
    /// An offer on demand, of which nothing else is known.
    pub fn new(
        provider: impl Into<String>,
        id: impl Into<String>,
        gpu: GpuRequest,
        card: RateCard,
    ) -> Self {
        Self {
            provider: provider.into(),
            id: id.into(),
            gpu,
            region: None,
            reliability: None,
            card,
            host: None,
            market: Market::OnDemand,
            verified: None,
            datacenter: None,
            cuda: None,
            download: None,
            upload: None,
            remaining: None,
            disk_available: None,
        }
    }
}

/// An offer and what the job would cost on it, all in: compute, disk and traffic.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RankedOffer {
    pub offer: Offer,
    pub estimate: Estimate,
}

/// The offers that meet `wanted`, cheapest job first; of two that cost the same the more reliable, then by name, so
/// that the order never depends on which provider answered first.
pub fn rank(offers: Vec<Offer>, wanted: &GpuRequest, job: &JobShape) -> Vec<RankedOffer> {
    let fitting = offers
        .into_iter()
        .filter(|offer| wanted.is_met_by(&offer.gpu));
    let mut ranked: Vec<RankedOffer> = fitting
        .map(|offer| RankedOffer {
            estimate: estimate(&offer.card, job),
            offer,
        })
        .collect();
    ranked.sort_by(|left, right| {
        let reliability =
            |ranked: &RankedOffer| ranked.offer.reliability.unwrap_or(Probability::NEVER);
        left.estimate
            .total
            .cmp(&right.estimate.total)
            .then_with(|| reliability(right).cmp(&reliability(left)))
            .then_with(|| {
                (&left.offer.provider, &left.offer.id)
                    .cmp(&(&right.offer.provider, &right.offer.id))
            })
    });
    ranked
}

#[cfg(test)]
mod tests {
    use rust_decimal::Decimal;
    use rust_decimal_macros::dec;

    use super::*;
    use crate::estimate::TrainingTime;
    use crate::money::{GigabyteRate, HourlyRate, Money};
    use crate::quantity::{Gigabytes, Hours, HoursPerMonth};
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
        rank(offers.to_vec(), &wanted, &job(hours))
            .into_iter()
            .map(|ranked| ranked.offer.id)
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
            rank(
                offers.to_vec(),
                &"4090x8".parse().expect("a GPU"),
                &job(dec!(1))
            )[0]
            .estimate
            .total,
            Money::new(dec!(3))
        );
    }
}
