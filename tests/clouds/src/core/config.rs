use std::time::Duration;

use rust_decimal::Decimal;
use rust_decimal_macros::dec;

use super::{ClockKind, Machine};
use crate::boxes::BoxKind;

/// How a simulator is put up. `SimConfig { boot: …, ..SimConfig::default() }`.
#[derive(Debug, Clone)]
pub struct SimConfig {
    /// Where to listen on 127.0.0.1; 0 lets the system choose.
    pub port: u16,
    /// The time it lives in.
    pub clock: ClockKind,
    /// The account's API key; every other one is refused.
    pub key: String,
    /// What a rented box is.
    pub boxes: BoxKind,
    /// From create, or start, until the box runs.
    pub boot: Duration,
    /// How long an ended box stays listed, for vendors that go on listing it.
    pub linger: Duration,
    /// What is on the account at first, dollars.
    pub credit: Decimal,
    /// Whether the vendor's published rate limits are enforced, in the simulator's own time.
    pub rate_limits: bool,
    /// The vendor's machines; `None`: the vendor's default market.
    pub stock: Option<Vec<Machine>>,
}

impl Default for SimConfig {
    fn default() -> Self {
        Self {
            port: 0,
            clock: ClockKind::Virtual(None),
            key: "sim-account-key".to_owned(),
            boxes: BoxKind::None,
            boot: Duration::ZERO,
            linger: Duration::from_secs(60),
            credit: dec!(100),
            rate_limits: false,
            stock: None,
        }
    }
}
