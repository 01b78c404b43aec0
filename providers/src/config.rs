//! What every cloud's client is made from.

use std::sync::Arc;

use secrecy::SecretString;

use crate::http::{RealTimer, Timer};

/// One cloud's address and key.
#[derive(Clone, Debug)]
pub struct CloudConfig {
    /// `None` for the vendor's own.
    pub base_url: Option<String>,
    /// Where the vendor serves another API at another address; `None` for its own.
    pub second_url: Option<String>,
    /// The parts of the key in the order of the vendor: one, or an id and a secret. Without any, a cloud may still say what
    /// it has to rent.
    pub key: Vec<SecretString>,
    /// Whether the vendor's published rate limits are kept; a simulator of one's own has none.
    pub rate_limits: bool,
    pub timer: Arc<dyn Timer>,
}

impl Default for CloudConfig {
    /// The vendor's own address, without a key.
    fn default() -> Self {
        Self {
            base_url: None,
            second_url: None,
            key: Vec::new(),
            rate_limits: true,
            timer: Arc::new(RealTimer),
        }
    }
}
