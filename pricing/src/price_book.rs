//! The built-in price book: dated, sourced prices for planning without a network. Never a guard, always with its age.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::LazyLock;

use chrono::NaiveDate;
use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::gpu::{GpuRequest, GpuSelection};
use crate::money::{GigabyteMonthRate, GigabyteRate, HourlyRate};
use crate::quantity::HoursPerMonth;
use crate::rate_card::{RateCard, StopSupport};

static EMBEDDED: LazyLock<PriceBook> = LazyLock::new(|| {
    PriceBook::parse(include_str!("price_book.toml"))
        .expect("the embedded book is parsed by a test")
});

/// What providers ask for which GPU.
#[derive(Clone, Debug)]
pub struct PriceBook {
    providers: BTreeMap<String, Terms>,
    listings: Vec<Listing>,
}

/// A rate card for what was asked, from one line of the book.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Quote {
    pub provider: String,
    /// A provider's own class of machines: `secure`, `community`.
    pub tier: Option<String>,
    pub kind: ProviderKind,
    /// The model that answers the request, as the book names it, and the count asked for.
    pub gpu: GpuRequest,
    /// Billed to us on a real box, not read from a price list.
    pub measured: bool,
    pub card: RateCard,
}

/// Whether one rents a machine or a function call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ProviderKind {
    Box,
    Serverless,
}

/// A book that can't be used.
#[derive(Debug, Error)]
pub enum PriceBookError {
    #[error("the price book is not what was expected")]
    Toml(#[from] toml::de::Error),
    #[error("the price book lists prices of `{0}`, but no terms for it: add [provider.{0}]")]
    NoTerms(String),
    #[error("the price book prices `{0}`: leave counts to `from_count`, and CPUs out")]
    NotOneGpu(String),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BookFile {
    provider: BTreeMap<String, Terms>,
    listing: Vec<Listing>,
}

/// What a provider charges beside its GPUs.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Terms {
    kind: ProviderKind,
    disk_running: GigabyteMonthRate,
    disk_stopped: GigabyteMonthRate,
    hours_per_month: HoursPerMonth,
    inbound: GigabyteRate,
    outbound: GigabyteRate,
    quantum_seconds: NonZeroU32,
    stop: StopSupport,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Listing {
    provider: String,
    tier: Option<String>,
    as_of: NaiveDate,
    source: String,
    #[serde(default)]
    measured: bool,
    #[serde(default)]
    includes_disk: bool,
    prices: Vec<Price>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Price {
    gpu: GpuRequest,
    #[serde(default = "one")]
    from_count: NonZeroU32,
    per_gpu: HourlyRate,
}

const fn one() -> NonZeroU32 {
    NonZeroU32::MIN
}

impl PriceBook {
    /// The book that this version was built with.
    pub fn embedded() -> &'static Self {
        &EMBEDDED
    }

    /// # Errors
    /// Where the text is no TOML of this form, or a listing lacks its provider's terms.
    pub fn parse(text: &str) -> Result<Self, PriceBookError> {
        let BookFile {
            provider: providers,
            listing: listings,
        } = toml::from_str(text)?;
        for listing in &listings {
            if !providers.contains_key(&listing.provider) {
                return Err(PriceBookError::NoTerms(listing.provider.clone()));
            }
            if let Some(price) = listing.prices.iter().find(|price| price.gpu.count() != 1) {
                return Err(PriceBookError::NotOneGpu(price.gpu.to_string()));
            }
        }
        Ok(Self {
            providers,
            listings,
        })
    }

    /// Every price that answers `wanted`, cheapest first. Within one listing the best rebate for the count counts.
    pub fn quotes(&self, wanted: &GpuRequest) -> Vec<Quote> {
        let GpuRequest::Gpus(selection) = wanted else {
            return Vec::new();
        };
        let mut quotes: Vec<Quote> = self
            .listings
            .iter()
            .flat_map(|listing| listing.quotes(selection, &self.providers[&listing.provider]))
            .collect();
        quotes.sort_by_key(|quote| quote.card.running);
        quotes
    }

    /// The quote to plan with: what was measured before what was listed, a box that can be stopped before one that
    /// can't, then the cheapest. With `provider`, of that one only.
    pub fn quote(&self, wanted: &GpuRequest, provider: Option<&str>) -> Option<Quote> {
        let quotes = self.quotes(wanted).into_iter();
        let quotes =
            quotes.filter(|quote| provider.is_none_or(|provider| quote.provider == provider));
        quotes.min_by_key(|quote| {
            (
                !quote.measured,
                quote.kind != ProviderKind::Box,
                !quote.card.stop.exists(),
                quote.card.running,
            )
        })
    }

    /// The day of its newest prices of a provider.
    pub fn newest(&self, provider: &str) -> Option<NaiveDate> {
        let listings = self.listings.iter();
        listings
            .filter(|listing| listing.provider == provider)
            .map(|listing| listing.as_of)
            .max()
    }

    /// The providers it knows.
    pub fn providers(&self) -> impl Iterator<Item = &str> {
        self.providers.keys().map(String::as_str)
    }
}

impl Listing {
    fn quotes(&self, wanted: &GpuSelection, terms: &Terms) -> Vec<Quote> {
        let answers = |price: &&Price| match &price.gpu {
            GpuRequest::Gpus(listed) => {
                price.from_count <= wanted.count()
                    && listed.models().any(|model| wanted.accepts(model))
            }
            GpuRequest::Cpu => false,
        };
        let mut best: BTreeMap<String, &Price> = BTreeMap::new();
        for price in self.prices.iter().filter(answers) {
            let known = best.entry(price.gpu.to_string()).or_insert(price);
            if price.from_count > known.from_count {
                *known = price;
            }
        }
        best.into_values()
            .map(|price| self.quote(price, wanted.count(), terms))
            .collect()
    }

    fn quote(&self, price: &Price, count: NonZeroU32, terms: &Terms) -> Quote {
        let card = RateCard {
            running: price.per_gpu * Decimal::from(count.get()),
            disk_running: if self.includes_disk {
                GigabyteMonthRate::ZERO
            } else {
                terms.disk_running
            },
            disk_stopped: terms.disk_stopped,
            hours_per_month: terms.hours_per_month,
            inbound: terms.inbound,
            outbound: terms.outbound,
            quantum_seconds: terms.quantum_seconds,
            minimum_seconds: 0,
            stop: terms.stop,
            as_of: self.as_of,
            source: self.source.clone(),
        };
        Quote {
            provider: self.provider.clone(),
            tier: self.tier.clone(),
            kind: terms.kind,
            gpu: price.gpu.with_count(count),
            measured: self.measured,
            card,
        }
    }
}

/// The box of the measurement that started it: 8x RTX 4090 with 250 GB, $3.4828/h with its disk, 2026-07-31.
pub fn measured_box() -> Quote {
    let wanted = "4090x8".parse().expect("a GPU of the table");
    PriceBook::embedded()
        .quote(&wanted, None)
        .expect("the embedded book has the measured box, as a test holds")
}

#[cfg(test)]
mod tests {
    use rust_decimal_macros::dec;

    use super::*;
    use crate::gpu::MODELS;
    use crate::quantity::Gigabytes;

    fn wanted(text: &str) -> GpuRequest {
        text.parse().expect("a GPU of the table")
    }

    #[test]
    fn the_embedded_book_is_dated_and_sourced() {
        let book = PriceBook::embedded();
        let quotes = MODELS
            .iter()
            .flat_map(|model| book.quotes(&wanted(&model.to_string())));
        let mut count = 0;
        for quote in quotes {
            count += 1;
            let year = quote.card.as_of.to_string();
            assert!(year.starts_with("2026-"), "{quote:?}");
            assert!(
                !quote.card.source.is_empty() && quote.card.running > HourlyRate::ZERO,
                "{quote:?}"
            );
        }
        assert!(count > 40, "{count}");
    }

    #[test]
    fn the_measured_box_costs_what_was_measured() {
        let quote = measured_box();
        assert!(quote.measured);
        assert_eq!(quote.card.running, HourlyRate::new(dec!(3.4828)));
        assert_eq!(
            quote.card.running_rate(Gigabytes::new(dec!(250))).figure(),
            "3.4828",
            "its disk is included"
        );
        assert_eq!(
            quote.card.stopped_rate(Gigabytes::new(dec!(250))).figure(),
            "0.0694"
        );
        assert_eq!(quote.card.as_of.to_string(), "2026-07-31");
        assert_eq!(quote.gpu.to_string(), "4090x8");
    }

    #[test]
    fn rebates_for_many_gpus_apply_from_their_count() {
        let book = PriceBook::embedded();
        let lambda = |gpu: &str| {
            book.quote(&wanted(gpu), Some("lambda"))
                .map(|quote| quote.card.running.figure())
        };
        assert_eq!(lambda("h100-sxmx1"), Some("4.2900".into()));
        assert_eq!(lambda("h100-sxmx4"), Some("17.1600".into()));
        assert_eq!(lambda("h100-sxmx8"), Some("31.9200".into()));
        assert_eq!(lambda("a100-80x4"), None, "only sold by eight");
    }

    #[test]
    fn the_quote_to_plan_with_is_the_cheapest_box_that_can_be_stopped() {
        let book = PriceBook::embedded();
        let quote = book.quote(&wanted("h100x8"), None).expect("a quote");
        assert_eq!(
            (quote.provider.as_str(), quote.gpu.to_string().as_str()),
            ("runpod", "h100-pciex8")
        );
        let quote = book
            .quote(&wanted("5090"), None)
            .expect("only a serverless price is dated");
        assert_eq!(quote.kind, ProviderKind::Serverless);
        assert_eq!(book.quote(&wanted("3090"), None), None, "no dated price");
        assert_eq!(book.quote(&GpuRequest::Cpu, None), None);
        let all = book.quotes(&wanted("h100-sxm"));
        assert!(
            all.is_sorted_by_key(|quote| quote.card.running) && all.len() == 7,
            "{all:#?}"
        );
    }

    #[test]
    fn a_book_with_a_hole_is_refused() {
        let listing = "[[listing]]\nprovider = \"x\"\nas_of = \"2026-01-01\"\nsource = \"s\"\n";
        let refused = |text: &str| PriceBook::parse(text).err().map(|error| error.to_string());
        let no_terms = format!("[provider]\n{listing}prices = []");
        assert!(refused(&no_terms).is_some_and(|error| error.contains("[provider.x]")));
        let undated = "[provider]\n[[listing]]\nprovider = \"x\"\nsource = \"s\"\nprices = []";
        assert!(refused(undated).is_some(), "a price without a date");
    }
}
