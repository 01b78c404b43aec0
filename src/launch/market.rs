//! Which providers are asked for a job, and which of their offers may become its box.

use crate::error::{Failure, Result};
use crate::exit_code::ExitCode;
use crate::job::JobSpec;
use crate::observe;
use crate::store::BadHost;
use gpurun_lifecycle::VolumeSpec;
use gpurun_pricing::estimate::JobShape;
use gpurun_pricing::{Gigabytes, GpuRequest, HourlyRate, Offer, OfferFilter, select};
use gpurun_providers::{OfferRequest, Provider, Volume};
use rust_decimal_macros::dec;

/// How much dearer than the price that was shown a box may be without another question: 5 percent.
const TOLERANCE: rust_decimal::Decimal = dec!(1.05);
/// Enough to go on with when the first is gone, and not so many that a broken job is tried for hours.
const MOST_OFFERS: usize = 8;

/// What to choose from, and by what.
pub(crate) struct Search<'a> {
    pub(crate) job: &'a JobSpec,
    pub(crate) disk: Gigabytes,
    pub(crate) shape: &'a JobShape,
    pub(crate) bad_hosts: &'a [BadHost],
    /// The person takes a dearer offer too, up to the job's own limit.
    pub(crate) accept_price: bool,
}

/// Where the box comes from.
pub(crate) enum Market {
    Offers(Selection),
    /// A GPU was asked for, and no cloud can be asked.
    NoKey,
}

/// Offers of one provider, the cheapest job first.
pub(crate) struct Selection {
    pub(crate) offers: Vec<Offer>,
    pub(crate) price_limit: Option<HourlyRate>,
    /// The job's, with its price.
    pub(crate) volume: Option<VolumeSpec>,
    /// What a person should know about those that aren't there.
    pub(crate) notes: Vec<String>,
}

/// Asks the provider that is named, else for `cpu` this machine, and for a GPU every cloud of `usable`: those with a key.
pub(crate) async fn market(usable: &[&dyn Provider], search: &Search<'_>) -> Result<Market> {
    let job = search.job;
    let asked = asked(usable, job);
    if asked.is_empty() {
        return Ok(Market::NoKey);
    }
    let request = OfferRequest {
        max_price: job.max_price,
        ..OfferRequest::new(job.gpu.clone(), search.disk)
    };
    let mounted = match &job.volume {
        Some(volume) => Some(observe::volume(&asked, &volume.id).await?),
        None => None,
    };
    let (found, unread) = observe::search_all(&asked, &request).await;
    let mut notes: Vec<String> = unread.iter().map(ToString::to_string).collect();
    let offers = found.into_iter().filter(|offer| {
        let reaches = |mounted: &(&str, Volume)| can_mount(offer, mounted);
        let bad = bad_host(search.bad_hosts, offer);
        notes.extend(bad.map(note));
        bad.is_none() && mounted.as_ref().is_none_or(reaches)
    });
    let filter = OfferFilter {
        max_price: job.max_price,
        ..OfferFilter::default()
    };
    let offers: Vec<Offer> = offers.collect();
    let selection = select(&offers, &job.gpu, search.shape, &filter);
    notes.sort();
    notes.dedup();
    let ranked = selection.ranked.into_iter();
    let ranked: Vec<Offer> = ranked.map(|ranked| ranked.offer.clone()).collect();
    let Some(best) = ranked.first() else {
        return Err(nothing(&asked, job, &notes));
    };
    let seen = best.card.running_rate(search.disk);
    let price_limit = if search.accept_price {
        job.max_price
    } else {
        Some(HourlyRate::new(seen.amount().saturating_mul(TOLERANCE)))
    };
    Ok(Market::Offers(Selection {
        offers: like_the_best(&ranked, search.disk, price_limit),
        price_limit,
        volume: job.volume.clone().map(|volume| VolumeSpec {
            rate: mounted.and_then(|(_, found)| found.price),
            ..volume
        }),
        notes,
    }))
}

fn asked<'a>(usable: &[&'a dyn Provider], job: &JobSpec) -> Vec<&'a dyn Provider> {
    let wanted = |provider: &&&dyn Provider| match (job.provider.as_deref(), &job.gpu) {
        (Some(name), _) => provider.name() == name,
        (None, GpuRequest::Cpu) => provider.name() == "local",
        (None, GpuRequest::Gpus(_)) => provider.name() != "local",
    };
    usable.iter().filter(wanted).copied().collect()
}

/// The best offer and those that may take its place: of its provider, and no dearer than was agreed to.
fn like_the_best(ranked: &[Offer], disk: Gigabytes, price_limit: Option<HourlyRate>) -> Vec<Offer> {
    let alike = ranked.iter().filter(|offer| {
        offer.provider == ranked[0].provider
            && price_limit.is_none_or(|limit| offer.card.running_rate(disk) <= limit)
    });
    alike.take(MOST_OFFERS).cloned().collect()
}

/// Whether a box of this offer is where the volume is.
fn can_mount(offer: &Offer, (provider, volume): &(&str, Volume)) -> bool {
    let place = volume.place.as_ref();
    let near = [offer.region.as_ref(), offer.host.as_ref()].contains(&place);
    offer.provider == *provider && (place.is_none() || near)
}

fn bad_host<'a>(bad_hosts: &'a [BadHost], offer: &Offer) -> Option<&'a BadHost> {
    bad_hosts
        .iter()
        .find(|bad| bad.provider == offer.provider && Some(&bad.host) == offer.host.as_ref())
}

fn note(bad: &BadHost) -> String {
    format!(
        "host {} of {} is left out: on {} {}",
        bad.host,
        bad.provider,
        bad.at.format("%Y-%m-%d"),
        bad.why
    )
}

fn nothing(asked: &[&dyn Provider], job: &JobSpec, notes: &[String]) -> Failure {
    let names: Vec<&str> = asked.iter().map(|provider| provider.name()).collect();
    let limit = job
        .max_price
        .map_or_else(String::new, |price| format!(" at {price} or less"));
    let mut lines = vec![format!(
        "nobody has {} to rent{limit} ({})",
        job.gpu,
        names.join(", ")
    )];
    lines.extend(notes.iter().cloned());
    Failure::new(
        ExitCode::Provider,
        lines.join("\n"),
        format!(
            "`gpurun offers --gpu {}` shows what there is, and why not",
            job.gpu
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpurun_pricing::price_book::PriceBook;

    fn offer(id: &str, provider: &str, price: rust_decimal::Decimal) -> Offer {
        let gpu: GpuRequest = "4090x8".parse().expect("a GPU of the table");
        let quote = PriceBook::embedded()
            .quote(&gpu, None)
            .expect("it is in the book");
        let mut offer = Offer::new(provider, id, gpu, quote.card);
        offer.card.running = HourlyRate::new(price);
        offer.card.disk_running = gpurun_pricing::GigabyteMonthRate::ZERO;
        offer
    }

    #[test]
    fn what_takes_the_best_offers_place_costs_what_was_agreed_to() {
        let ranked = [
            offer("best", "vast", dec!(3.00)),
            offer("elsewhere", "lambda", dec!(3.00)),
            offer("as cheap", "vast", dec!(3.15)),
            offer("dearer", "vast", dec!(3.16)),
        ];
        let ids = |limit: Option<rust_decimal::Decimal>| -> Vec<String> {
            let disk = Gigabytes::new(dec!(100));
            let limit = limit.map(HourlyRate::new);
            let alike = like_the_best(&ranked, disk, limit);
            alike.into_iter().map(|offer| offer.id).collect()
        };
        assert_eq!(ids(Some(dec!(3.00) * TOLERANCE)), ["best", "as cheap"]);
        assert_eq!(ids(None), ["best", "as cheap", "dearer"]);
    }
}
