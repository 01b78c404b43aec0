//! The account behind a key.

use gpurun_pricing::{HourlyRate, Money};

/// What a provider says about the account; `None` where it doesn't say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// The provider's own name for it. A box's absence means something only under the account that made it.
    pub id: Option<String>,
    /// Money left.
    pub balance: Option<Money>,
    /// What everything there costs at the moment.
    pub burn: Option<HourlyRate>,
    /// The most that everything may cost per hour, set by the provider or the account's owner.
    pub spend_limit: Option<HourlyRate>,
}
