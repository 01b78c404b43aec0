//! What every cloud's client is made from.

use secrecy::SecretString;

/// One cloud's address and key.
#[derive(Clone, Debug)]
pub struct CloudConfig {
    /// Without a slash at the end. `None` for the vendor's own.
    pub base_url: Option<String>,
    /// Where the vendor serves another API at another address; `None` for its own.
    pub second_url: Option<String>,
    /// Without one, a cloud may still say what it has to rent.
    pub key: Option<SecretString>,
}

impl CloudConfig {
    /// The vendor's own address, with this key.
    pub fn with_key(key: impl Into<SecretString>) -> Self {
        Self {
            base_url: None,
            second_url: None,
            key: Some(key.into()),
        }
    }
}
