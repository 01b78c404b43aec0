//! Disks that outlive the boxes they are mounted in, and cost money on their own.

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use gpurun_pricing::{Gigabytes, HourlyRate};

use crate::error::Result;

/// The calls about volumes, with the meaning that [`Provider`](crate::Provider)'s calls have: made once, lists complete,
/// absence only when it was read.
#[async_trait]
pub trait Volumes: Send + Sync {
    /// Makes one volume. Whoever calls it has written down the name before.
    ///
    /// # Errors
    /// `InvalidRequest` for a size or a place the provider doesn't have. Where the kind
    /// [may have acted](crate::ErrorKind::may_have_acted), a volume may be there.
    async fn create(&self, request: &VolumeRequest) -> Result<Volume>;

    /// Every volume of this account.
    ///
    /// # Errors
    /// When any part of the list can't be read.
    async fn list(&self) -> Result<Vec<Volume>>;

    /// Asks for a volume to be removed for good, with all that is on it. One that is gone is success.
    ///
    /// # Errors
    /// When the provider didn't accept it, such as while a box has it mounted.
    async fn delete(&self, id: &str) -> Result<()>;

    /// What a volume of this size costs, filled or not; `None` where the provider bills only what is on it.
    ///
    /// # Errors
    /// When the price can't be read.
    async fn rate(&self, request: &VolumeRequest) -> Result<Option<HourlyRate>>;
}

/// The volume to make.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VolumeRequest {
    /// Lower-case letters, digits and dashes, 1 to 63 of them.
    pub name: String,
    pub size: Gigabytes,
    /// The region, or the offer's host where volumes belong to one machine; in the provider's own words.
    pub place: String,
}

/// One volume of the account, whoever made it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Volume {
    pub id: String,
    pub name: Option<String>,
    /// The region or host it is bound to.
    pub place: Option<String>,
    /// Allocated; where a provider bills only what is on it, that.
    pub size: Option<Gigabytes>,
    pub created_at: Option<DateTime<Utc>>,
    /// The boxes that have it mounted, where the provider says so.
    pub attached_to: Vec<String>,
    /// What it costs now.
    pub price: Option<HourlyRate>,
}

/// A volume in a box.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VolumeMount {
    pub id: String,
    /// Where the box sees it: an absolute path. Providers with a place of their own for it refuse another.
    pub path: String,
}
