//! What a provider has to rent, ranked by what the whole job would cost on it.

mod filter;
mod rank;

use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};

pub use filter::{OfferFilter, Rejection};
pub use rank::{RankedOffer, Selection, select};

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
