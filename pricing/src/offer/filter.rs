//! What an offer must have, and why one hasn't.

use std::fmt;

use rust_decimal::Decimal;

use super::{Market, Offer};
use crate::estimate::JobShape;
use crate::gpu::{CudaVersion, GpuRequest};
use crate::money::HourlyRate;
use crate::quantity::{Gigabytes, Hours, Probability};

/// What is asked of an offer beside its GPU and its disk. What a provider doesn't say is held against it only where a
/// figure was asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OfferFilter {
    /// The most a running box may cost, its disk included.
    pub max_price: Option<HourlyRate>,
    /// Part of the region's name, in any case.
    pub region: Option<String>,
    pub reliability: Option<Probability>,
    /// Mbit/s from the internet.
    pub download: Option<Decimal>,
    /// The oldest CUDA that its driver must run.
    pub cuda: Option<CudaVersion>,
    /// How long the host must still be let, where that is longer than the job.
    pub remaining: Option<Hours>,
    /// Machines that the provider doesn't vouch for will do, too.
    pub unverified: bool,
    pub market: Market,
}

/// Why an offer won't do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rejection {
    Gpu {
        offered: GpuRequest,
    },
    Market {
        offered: Market,
    },
    Unverified,
    Price {
        rate: HourlyRate,
        most: HourlyRate,
    },
    Disk {
        available: Gigabytes,
        needed: Gigabytes,
    },
    Region {
        offered: Option<String>,
    },
    Reliability {
        offered: Option<Probability>,
    },
    Download {
        offered: Option<Decimal>,
    },
    Cuda {
        offered: Option<CudaVersion>,
    },
    Remaining {
        remaining: Hours,
        needed: Hours,
    },
}

impl OfferFilter {
    /// The first thing that is wrong with an offer; `None` for one that will do.
    pub fn rejection(
        &self,
        offer: &Offer,
        wanted: &GpuRequest,
        job: &JobShape,
    ) -> Option<Rejection> {
        if !wanted.is_met_by(&offer.gpu) {
            let offered = offer.gpu.clone();
            return Some(Rejection::Gpu { offered });
        }
        if offer.market != self.market {
            let offered = offer.market;
            return Some(Rejection::Market { offered });
        }
        if offer.verified == Some(false) && !self.unverified {
            return Some(Rejection::Unverified);
        }
        self.price(offer, job)
            .or_else(|| Self::disk(offer, job))
            .or_else(|| self.machine(offer))
            .or_else(|| self.time(offer, job))
    }

    fn price(&self, offer: &Offer, job: &JobShape) -> Option<Rejection> {
        let most = self.max_price?;
        let rate = offer.card.running_rate(job.disk);
        (rate > most).then_some(Rejection::Price { rate, most })
    }

    fn disk(offer: &Offer, job: &JobShape) -> Option<Rejection> {
        let (available, needed) = (offer.disk_available?, job.disk);
        (available < needed).then_some(Rejection::Disk { available, needed })
    }

    fn machine(&self, offer: &Offer) -> Option<Rejection> {
        if let Some(wanted) = &self.region
            && !offer
                .region
                .as_ref()
                .is_some_and(|region| region.to_lowercase().contains(&wanted.to_lowercase()))
        {
            let offered = offer.region.clone();
            return Some(Rejection::Region { offered });
        }
        if self.reliability.is_some() && offer.reliability < self.reliability {
            let offered = offer.reliability;
            return Some(Rejection::Reliability { offered });
        }
        if self.download.is_some() && offer.download < self.download {
            let offered = offer.download;
            return Some(Rejection::Download { offered });
        }
        if self.cuda.is_some() && offer.cuda < self.cuda {
            return Some(Rejection::Cuda {
                offered: offer.cuda,
            });
        }
        None
    }

    /// A host whose own contract ends first takes the job with it.
    fn time(&self, offer: &Offer, job: &JobShape) -> Option<Rejection> {
        let remaining = offer.remaining?;
        let job = job.setup + job.staging + job.training.hours() + job.teardown;
        let needed = self.remaining.map_or(job, |asked| asked.max(job));
        (remaining < needed).then_some(Rejection::Remaining { remaining, needed })
    }
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Gpu { offered } => write!(f, "it has {}", offered.describe()),
            Self::Market {
                offered: Market::Interruptible,
            } => f.write_str("it may be taken away (--spot takes it)"),
            Self::Market {
                offered: Market::OnDemand,
            } => f.write_str("it is on demand"),
            Self::Unverified => {
                f.write_str("the provider doesn't vouch for it (--unverified takes it)")
            }
            Self::Price { rate, most } => write!(f, "{rate} with its disk, over {most}"),
            Self::Disk { available, needed } => write!(f, "it has {available} of {needed}"),
            Self::Region { offered } => unknown(f, "it is in", offered.as_ref()),
            Self::Reliability { offered } => unknown(f, "its reliability is", offered.as_ref()),
            Self::Download { offered: None } => {
                unknown::<Decimal>(f, "its download speed is", None)
            }
            Self::Download {
                offered: Some(speed),
            } => write!(f, "it downloads {} Mbit/s", speed.round()),
            Self::Cuda { offered } => unknown(f, "its driver runs CUDA", offered.as_ref()),
            Self::Remaining { remaining, needed } => {
                write!(f, "its host is let for {remaining} of {needed}")
            }
        }
    }
}

fn unknown<T: fmt::Display>(
    f: &mut fmt::Formatter<'_>,
    what: &str,
    offered: Option<&T>,
) -> fmt::Result {
    match offered {
        Some(offered) => write!(f, "{what} {offered}"),
        None => write!(f, "{what} unknown"),
    }
}

#[cfg(test)]
mod tests {
    use rust_decimal_macros::dec;

    use super::*;
    use crate::estimate::TrainingTime;
    use crate::quantity::HoursPerMonth;
    use crate::rate_card::tests::measured;

    fn offer() -> Offer {
        let gpu = "4090x8".parse().expect("a GPU");
        let mut offer = Offer::new("vast", "1", gpu, measured(HoursPerMonth::THIRTY_DAYS));
        offer.verified = Some(true);
        offer
    }

    fn why(filter: &OfferFilter, offer: &Offer) -> Option<String> {
        let job = JobShape {
            setup: Hours::ZERO,
            staging: Hours::ZERO,
            training: TrainingTime::Expected(Hours::new(dec!(12))),
            teardown: Hours::ZERO,
            disk: Gigabytes::new(dec!(250)),
            inbound: Gigabytes::ZERO,
            outbound: Gigabytes::ZERO,
        };
        let wanted = "4090x8".parse().expect("a GPU");
        let rejection = filter.rejection(offer, &wanted, &job);
        rejection.map(|reason| reason.to_string())
    }

    #[test]
    fn every_rejection_says_what_was_offered() {
        let usual = OfferFilter::default();
        assert_eq!(why(&usual, &offer()), None);
        let is = |filter: &OfferFilter, change: &dyn Fn(&mut Offer), reason: &str| {
            let mut offer = offer();
            change(&mut offer);
            assert_eq!(why(filter, &offer).as_deref(), Some(reason));
        };
        let four = |offer: &mut Offer| offer.gpu = "4090x4".parse().expect("a GPU");
        is(&usual, &four, "it has 4x RTX 4090");
        let spot = |offer: &mut Offer| offer.market = Market::Interruptible;
        is(&usual, &spot, "it may be taken away (--spot takes it)");
        let unverified = |offer: &mut Offer| offer.verified = Some(false);
        is(
            &usual,
            &unverified,
            "the provider doesn't vouch for it (--unverified takes it)",
        );
        let small = |offer: &mut Offer| offer.disk_available = Some(Gigabytes::new(dec!(40)));
        is(&usual, &small, "it has 40 GB of 250 GB");
        let short = |offer: &mut Offer| offer.remaining = Some(Hours::new(dec!(6)));
        is(&usual, &short, "its host is let for 6 h of 12 h");
        let dear = OfferFilter {
            max_price: Some(HourlyRate::new(dec!(3))),
            ..OfferFilter::default()
        };
        is(&dear, &|_| {}, "$3.4828/h with its disk, over $3.0000/h");
        let far = OfferFilter {
            region: Some("se".into()),
            ..OfferFilter::default()
        };
        is(
            &far,
            &|offer| offer.region = Some("Texas, US".into()),
            "it is in Texas, US",
        );
        is(&far, &|_| {}, "it is in unknown");
        let new = OfferFilter {
            cuda: "12.8".parse().ok(),
            ..OfferFilter::default()
        };
        is(
            &new,
            &|offer| offer.cuda = "11.8".parse().ok(),
            "its driver runs CUDA 11.8",
        );
        let fast = OfferFilter {
            download: Some(dec!(1000)),
            ..OfferFilter::default()
        };
        is(
            &fast,
            &|offer| offer.download = Some(dec!(99.6)),
            "it downloads 100 Mbit/s",
        );
        let sure = OfferFilter {
            reliability: Probability::new(dec!(0.98)).ok(),
            ..OfferFilter::default()
        };
        is(&sure, &|_| {}, "its reliability is unknown");
    }

    #[test]
    fn what_is_not_said_is_no_fault_unless_it_was_asked_for() {
        let mut silent = offer();
        silent.verified = None;
        assert_eq!(why(&OfferFilter::default(), &silent), None);
        let near = OfferFilter {
            region: Some("SE".into()),
            ..OfferFilter::default()
        };
        silent.region = Some("Sweden, SE".into());
        assert_eq!(why(&near, &silent), None);
    }
}
