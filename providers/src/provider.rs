//! The contract.

use async_trait::async_trait;
use gpurun_pricing::{Gigabytes, GpuRequest, HourlyRate, Market, Offer, RateCard};

use crate::account::Account;
use crate::capabilities::Capabilities;
use crate::error::Result;
use crate::instance::Instance;
use crate::volume::{VolumeMount, Volumes};

/// A place that rents boxes: the same calls everywhere, and the same meaning of each.
///
/// What every implementation holds, and the conformance suite checks:
/// - A call is made once. Nothing that spends or destroys is tried again inside; reads may be.
/// - After a failed `rent` a box may exist. The caller looks for the label with `list_mine`.
/// - `describe` says `None`, and `list_mine` leaves a box out, only when the provider was read and has no such box. What
///   can't be read, or is refused for a wrong key, is an error.
/// - `stop`, `start` and `destroy` are requests: success means accepted, and only a later look shows the new state. Asking
///   for the state a box is already in is success; `destroy` of what is gone is success.
/// - Lists are complete: all pages, or an error.
/// - No secret is in an error, a log or a `Debug` form.
#[async_trait]
pub trait Provider: Send + Sync {
    /// The name in job files, the ledger and error messages; lower case, never changed.
    fn name(&self) -> &'static str;

    fn capabilities(&self) -> Capabilities;

    /// The prices a box from `offer` is billed by, with the date they were seen.
    ///
    /// # Errors
    /// `NoCapacity` when the offer is gone.
    async fn rate_card(&self, offer: &Offer) -> Result<RateCard>;

    /// What can be rented now, cheapest running rate first. Nothing that fits is an empty list, not an error.
    ///
    /// # Errors
    /// When the provider can't be read.
    async fn search(&self, request: &OfferRequest) -> Result<Vec<Offer>>;

    /// Makes one box. Whoever calls it has written down the label before.
    ///
    /// # Errors
    /// `NoCapacity` when the offer is gone; `InvalidRequest`, with the other box named, when the label is in use and
    /// [`Labels::Unique`](crate::Labels::Unique). Where the kind
    /// [may have acted](crate::ErrorKind::may_have_acted), a box may be there.
    async fn rent(&self, request: &RentRequest) -> Result<Instance>;

    /// One box by its id; `None` when it is proven not to exist.
    ///
    /// # Errors
    /// When that can't be told.
    async fn describe(&self, id: &str) -> Result<Option<Instance>>;

    /// Every box of this account, ours by label or not, in whatever state.
    ///
    /// # Errors
    /// When any part of the list can't be read.
    async fn list_mine(&self) -> Result<Vec<Instance>>;

    /// Asks for a stopped box to run again.
    ///
    /// # Errors
    /// `Gone` when there is no such box; `NoCapacity` when its GPUs are taken; `InvalidRequest` without
    /// [`Capabilities::can_stop`].
    async fn start(&self, id: &str) -> Result<()>;

    /// Asks for a running box to stop.
    ///
    /// # Errors
    /// `Gone` when there is no such box; `InvalidRequest` without [`Capabilities::can_stop`].
    async fn stop(&self, id: &str) -> Result<()>;

    /// Asks for a box to be removed for good, in whatever state it is.
    ///
    /// # Errors
    /// When the provider didn't accept it.
    async fn destroy(&self, id: &str) -> Result<()>;

    /// Lets the holder of a key into a box that is there: for one that was found by its label, or whose host lost the
    /// key. `false` where keys come in only with `rent`.
    ///
    /// # Errors
    /// When the provider didn't accept it.
    async fn authorize(&self, _id: &str, _ssh_public_key: &str) -> Result<bool> {
        Ok(false)
    }

    /// Whose key this is, and how much money it has left.
    ///
    /// # Errors
    /// `Credentials` when the key is missing or refused.
    async fn account(&self) -> Result<Account>;

    /// Disks that outlive boxes; `None` without [`Capabilities::volumes`].
    fn volumes(&self) -> Option<&dyn Volumes>;
}

/// What to look for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OfferRequest {
    pub gpu: GpuRequest,
    /// The disk that will be rented: prices may depend on it.
    pub disk: Gigabytes,
    /// The most a running box may cost, its disk included.
    pub max_price: Option<HourlyRate>,
    pub market: Market,
    /// Only there, in the provider's own words. `None` for anywhere.
    pub region: Option<String>,
}

impl OfferRequest {
    /// Anything on demand that has `gpu` and `disk`.
    pub fn new(gpu: GpuRequest, disk: Gigabytes) -> Self {
        Self {
            gpu,
            disk,
            max_price: None,
            market: Market::OnDemand,
            region: None,
        }
    }
}

/// What to rent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RentRequest {
    /// Unique, ours, and written down: what finds the box when the reply is lost. Lower-case letters, digits and dashes,
    /// 1 to 63 of them, which every provider takes.
    pub label: String,
    pub offer: Offer,
    pub disk: Gigabytes,
    pub image: Option<String>,
    /// Who may come in: one line of OpenSSH's `authorized_keys`. What the provider puts into the account for it, it takes
    /// out again with the box.
    pub ssh_public_key: Option<String>,
    /// A volume of the same region or machine to mount.
    pub volume: Option<VolumeMount>,
}

impl RentRequest {
    /// A box of this name from `offer`, with nothing special.
    pub fn new(label: impl Into<String>, offer: Offer, disk: Gigabytes) -> Self {
        Self {
            label: label.into(),
            offer,
            disk,
            image: None,
            ssh_public_key: None,
            volume: None,
        }
    }
}
