//! One address: reaching it, knowing who answers, and being let in.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use gpurun_providers::SshEndpoint;
use russh::client::{self, Handler};
use russh::keys::{HashAlg, PrivateKey, PrivateKeyWithHashAlg, PublicKey, PublicKeyOrCertificate};

use super::connect::{Patience, Session};
use super::keys::RunKeys;
use super::pins;

const KEEPALIVES_LOST: usize = 2;
const WINDOW_BYTES: u32 = 16 << 20;

/// Why nobody let us in.
pub(super) enum Refusal {
    No(String),
    /// It doesn't know our key.
    Locked(String),
    /// Another host key than the one pinned.
    Stranger(String),
}

/// Lets the pinned key through; before the first contact any, and remembers which.
pub(super) struct Gate {
    pinned: Option<PublicKey>,
    met: Arc<Mutex<Option<PublicKey>>>,
}

impl Handler for Gate {
    type Error = russh::Error;

    async fn check_server_key(
        &mut self,
        shown: &PublicKeyOrCertificate,
    ) -> Result<bool, Self::Error> {
        let PublicKeyOrCertificate::PublicKey { key, .. } = shown else {
            return Ok(false);
        };
        *self.met.lock().unwrap_or_else(PoisonError::into_inner) = Some(key.clone());
        let pinned = self.pinned.as_ref();
        Ok(pinned.is_none_or(|pinned| pinned.key_data() == key.key_data()))
    }
}

pub(super) async fn enter(
    endpoint: &SshEndpoint,
    instance: &str,
    user: &str,
    key: &PrivateKey,
    keys: &RunKeys,
    patience: Patience,
) -> Result<Session, Refusal> {
    let alias = pins::alias(instance, endpoint.kind);
    let known_hosts = keys.known_hosts();
    let pins_failed =
        |error: std::io::Error| Refusal::Stranger(format!("{}: {error}", known_hosts.display()));
    let pinned = pins::pinned(&known_hosts, &alias).map_err(pins_failed)?;
    let met = Arc::new(Mutex::new(None));
    let gate = Gate {
        pinned: pinned.clone(),
        met: Arc::clone(&met),
    };
    let address = (endpoint.host.as_str(), endpoint.port);
    let connecting = client::connect(Arc::new(config(patience.keepalive)), address, gate);
    let connected = tokio::time::timeout(patience.connect, connecting).await;
    let shown = met.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let (Some(pinned), Some(shown)) = (&pinned, &shown)
        && pinned.key_data() != shown.key_data()
    {
        return Err(Refusal::Stranger(format!(
            "{}:{} shows another host key than box {instance} did before: {} instead of {}",
            endpoint.host,
            endpoint.port,
            shown.fingerprint(HashAlg::Sha256),
            pinned.fingerprint(HashAlg::Sha256)
        )));
    }
    let late = |_| Refusal::No(format!("no answer within {} s", patience.connect.as_secs()));
    let mut session = connected.map_err(late)?.map_err(said)?;
    let key = PrivateKeyWithHashAlg::new(Arc::new(key.clone()), None);
    let login =
        tokio::time::timeout(patience.connect, session.authenticate_publickey(user, key)).await;
    if !login.map_err(late)?.map_err(said)?.success() {
        return Err(Refusal::Locked(format!(
            "the box doesn't let {user} in with the run's key"
        )));
    }
    // Only now: whoever refuses us may be another box that had the address before.
    if let (None, Some(shown)) = (pinned, shown) {
        pins::pin(&known_hosts, &alias, &shown).map_err(pins_failed)?;
    }
    Ok(session)
}

fn config(keepalive: Duration) -> client::Config {
    client::Config {
        keepalive_interval: Some(keepalive),
        keepalive_max: KEEPALIVES_LOST,
        nodelay: true,
        window_size: WINDOW_BYTES,
        channel_buffer_size: 1000,
        ..client::Config::default()
    }
}

fn said(error: russh::Error) -> Refusal {
    Refusal::No(match error {
        russh::Error::IO(error) => error.to_string(),
        error => error.to_string(),
    })
}
