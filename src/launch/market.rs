//! Which providers are asked for a job, and which of their offers may become its box.

use super::driver::{self, needed_by};
use super::estimate::shape;
use crate::error::{Failure, Result};
use crate::exit_code::ExitCode;
use crate::observe;
use crate::store::BadHost;
use gpurun_lifecycle::{RunRecord, VolumeSpec};
use gpurun_pricing::estimate::JobShape;
use gpurun_pricing::{CudaVersion, Gigabytes, GpuRequest, HourlyRate, Offer, OfferFilter, select};
use gpurun_providers::{OfferRequest, Provider, Volume};
use rust_decimal_macros::dec;

/// How much dearer than the price that was shown a box may be without another question: 5 percent.
const TOLERANCE: rust_decimal::Decimal = dec!(1.05);
/// A machine that was of no use is left alone this long: until then it is repaired, or let to others.
pub(crate) const BAD_FOR_DAYS: i64 = 30;
/// Enough to go on with when the first is gone, and not so many that a broken job is tried for hours.
const MOST_OFFERS: usize = 8;

/// What to choose from, and by what.
pub(crate) struct Search<'a> {
    /// `None`: this machine for `cpu`, and for a GPU every cloud.
    pub(crate) provider: Option<&'a str>,
    pub(crate) gpu: &'a GpuRequest,
    pub(crate) max_price: Option<HourlyRate>,
    pub(crate) volume: Option<&'a VolumeSpec>,
    pub(crate) disk: Gigabytes,
    pub(crate) shape: &'a JobShape,
    pub(crate) bad_hosts: &'a [BadHost],
    /// What the engine needs of a GPU's driver.
    pub(crate) cuda: Option<CudaVersion>,
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

/// Asks those of `usable`, this machine and the clouds with a key, that the search is for.
pub(crate) async fn market(usable: &[&dyn Provider], search: &Search<'_>) -> Result<Market> {
    let asked = asked(usable, search);
    if asked.is_empty() {
        return Ok(Market::NoKey);
    }
    let (ranked, mounted, notes) = ranked(&asked, search).await?;
    let Some(best) = ranked.first() else {
        return Err(nothing(&asked, search, &notes));
    };
    let seen = best.card.running_rate(search.disk);
    let price_limit = if search.accept_price {
        search.max_price
    } else {
        Some(HourlyRate::new(seen.amount().saturating_mul(TOLERANCE)))
    };
    Ok(Market::Offers(Selection {
        offers: like_the_best(&ranked, search.disk, price_limit),
        price_limit,
        volume: search.volume.cloned().map(|volume| VolumeSpec {
            rate: mounted.and_then(|found| found.price),
            ..volume
        }),
        notes,
    }))
}

/// Offers for a run whose box is gone: those it was launched with are long let to others. What was agreed to stays.
pub(crate) async fn market_again(
    provider: &dyn Provider,
    run: &RunRecord,
    bad_hosts: &[BadHost],
) -> Result<Vec<Offer>> {
    let spec = &run.spec;
    let gpu = spec
        .offers
        .first()
        .map_or(&GpuRequest::Cpu, |offer| &offer.gpu);
    let search = Search {
        provider: Some(&spec.provider),
        gpu,
        max_price: spec.price_limit,
        volume: spec.volume.as_ref(),
        disk: spec.disk,
        shape: &shape(&spec.rebuild, spec.stop.max_hours, spec.disk),
        bad_hosts,
        cuda: needed_by(spec.install.engine),
        accept_price: true,
    };
    match market(&[provider], &search).await? {
        Market::Offers(selection) => Ok(selection.offers),
        Market::NoKey => Ok(Vec::new()),
    }
}

/// The offers that will do, the cheapest job first; the volume; and what a person should know about the others.
async fn ranked(
    asked: &[&dyn Provider],
    search: &Search<'_>,
) -> Result<(Vec<Offer>, Option<Volume>, Vec<String>)> {
    let request = OfferRequest {
        max_price: search.max_price,
        ..OfferRequest::new(search.gpu.clone(), search.disk)
    };
    let mounted = match search.volume {
        Some(volume) => Some(observe::volume(asked, &volume.id).await?),
        None => None,
    };
    let (found, unread) = observe::search_all(asked, &request).await;
    let mut notes: Vec<String> = unread.iter().map(ToString::to_string).collect();
    let mut too_old = 0;
    let offers = found.into_iter().filter(|offer| {
        if driver::is_too_old(offer, search.cuda) {
            too_old += 1;
            return false;
        }
        let reaches = |mounted: &(&str, Volume)| can_mount(offer, mounted);
        let bad = bad_host(search.bad_hosts, offer);
        notes.extend(bad.map(note));
        bad.is_none() && mounted.as_ref().is_none_or(reaches)
    });
    let offers: Vec<Offer> = offers.collect();
    notes.sort();
    notes.dedup();
    notes.extend(driver::note(too_old, search.cuda));
    let filter = OfferFilter {
        max_price: search.max_price,
        ..OfferFilter::default()
    };
    let selection = select(&offers, search.gpu, search.shape, &filter);
    let ranked = selection.ranked.into_iter();
    let ranked = ranked.map(|ranked| ranked.offer.clone()).collect();
    Ok((ranked, mounted.map(|(_, volume)| volume), notes))
}

fn asked<'a>(usable: &[&'a dyn Provider], search: &Search<'_>) -> Vec<&'a dyn Provider> {
    let wanted = |provider: &&&dyn Provider| match (search.provider, search.gpu) {
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

/// Whether a box of this offer can be where the volume is. A provider that doesn't say where its offers are puts it there.
fn can_mount(offer: &Offer, (provider, volume): &(&str, Volume)) -> bool {
    let place = volume.place.as_ref();
    let near = [offer.region.as_ref(), offer.host.as_ref()].contains(&place);
    let anywhere = offer.region.is_none() && offer.host.is_none();
    offer.provider == *provider && (place.is_none() || near || anywhere)
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

fn nothing(asked: &[&dyn Provider], search: &Search<'_>, notes: &[String]) -> Failure {
    let names: Vec<&str> = asked.iter().map(|provider| provider.name()).collect();
    let limit = search
        .max_price
        .map_or_else(String::new, |price| format!(" at {price} or less"));
    let mut lines = vec![format!(
        "nobody has {} to rent{limit} ({})",
        search.gpu,
        names.join(", ")
    )];
    lines.extend(notes.iter().cloned());
    Failure::new(
        ExitCode::Provider,
        lines.join("\n"),
        format!(
            "`gpurun offers --gpu {}` shows what there is, and why not",
            search.gpu
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
