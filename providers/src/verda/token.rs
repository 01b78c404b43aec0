//! The key's two parts buy a token, and the token opens everything else.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::api::{self, Granted};
use crate::config::CloudConfig;
use crate::error::{Operation, Result};
use crate::http::{Client, Service, Timer};

/// A token is not used in its last minute.
const MARGIN: Duration = Duration::from_secs(60);

/// The way to a client that is let in.
#[derive(Clone, Debug)]
pub(super) struct Door {
    outside: Client,
    config: CloudConfig,
    inside: Arc<Mutex<Option<Inside>>>,
}

#[derive(Clone, Debug)]
struct Inside {
    client: Client,
    /// By the timer.
    until: Duration,
}

impl Door {
    pub(super) fn new(service: Service, config: &CloudConfig) -> Self {
        Self {
            outside: Client::new(service, config.base_url.as_deref(), config),
            config: config.clone(),
            inside: Arc::default(),
        }
    }

    /// For errors of ours, and to know whether there is a key.
    pub(super) fn outside(&self) -> &Client {
        &self.outside
    }

    /// A client with a token that is good for a while.
    ///
    /// # Errors
    /// `Credentials` without a key or with a wrong one; whatever else keeps a token from coming.
    pub(super) async fn open(&self, operation: Operation) -> Result<Client> {
        let [id, secret] = self.config.key.as_slice() else {
            return Err(self.outside.no_key(operation));
        };
        let timer: &dyn Timer = self.config.timer.as_ref();
        let known = self.lock().clone();
        if let Some(inside) = known.filter(|inside| timer.now() < inside.until) {
            return Ok(inside.client);
        }
        let asked = timer.now();
        let call = api::token(operation)
            .secret("client_id", id)
            .secret("client_secret", secret);
        let reply = self.outside.read(&call).await?;
        // The answer is the secret: none of it goes into an error.
        let granted: Granted = reply.json().map_err(|_| {
            let why = "its answer to the key's two parts holds no token";
            self.outside.garbled(operation, why)
        })?;
        let client = self.outside.with_token(&granted.access_token);
        let good_for = Duration::from_secs(granted.expires_in).saturating_sub(MARGIN);
        *self.lock() = Some(Inside {
            client: client.clone(),
            until: asked + good_for,
        });
        Ok(client)
    }

    /// The token was refused: the next call buys another.
    pub(super) fn close(&self) {
        *self.lock() = None;
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Inside>> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
