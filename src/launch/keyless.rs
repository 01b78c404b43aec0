//! A GPU without a key: the plan and its price from the built-in book, and where each key goes.

use crate::job::JobSpec;
use crate::settings::Settings;
use chrono::NaiveDate;
use gpurun_pricing::Offer;
use gpurun_pricing::price_book::PriceBook;

/// The box the price book knows for what the job asks; `None` where it knows none.
pub(crate) fn quoted_offer(job: &JobSpec, today: NaiveDate) -> Option<(Offer, String)> {
    let quote = PriceBook::embedded().quote(&job.gpu, job.provider.as_deref())?;
    let age = if quote.card.is_stale(today) {
        ", stale: older than 30 days"
    } else {
        ""
    };
    let source = format!(
        "price book of {} ({}){age}",
        quote.card.as_of, quote.card.source
    );
    let offer = Offer::new(quote.provider, "price-book", quote.gpu, quote.card);
    Some((offer, source))
}

/// One line for each cloud: what is missing and where it goes.
pub(crate) fn missing_keys(settings: &Settings, only: Option<&str>) -> Vec<String> {
    settings
        .clouds_without_key()
        .filter(|cloud| only.is_none_or(|name| name == cloud.name))
        .map(|cloud| format!("{:<8} no key: {}", cloud.name, cloud.where_the_key_goes()))
        .chain(
            settings
                .credentials
                .iter()
                .filter(|found| only.is_none_or(|name| name == found.cloud))
                .map(|found| {
                    format!(
                        "{:<8} key found in {}; this version doesn't rent there",
                        found.cloud, found.place
                    )
                }),
        )
        .collect()
}
