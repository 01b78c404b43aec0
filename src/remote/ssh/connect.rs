//! Connecting: every way the provider named, the best first.

use std::sync::Arc;
use std::time::Duration;

use gpurun_providers::{SshAccess, SshEndpoint};
use russh::client::Handle;

use super::super::command::RemoteError;
use super::endpoint::{Gate, Refusal, enter};
use super::keys::RunKeys;

pub(super) type Session = Handle<Gate>;

/// A connection, and where it leads.
#[derive(Clone)]
pub(super) struct Way {
    pub(super) session: Arc<Session>,
    pub(super) endpoint: SshEndpoint,
}

/// How long somebody may be silent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience {
    /// At each of the ways, twice: a box that is up answers within a second, through a proxy within a few.
    pub(super) connect: Duration,
    /// A dead line is noticed within three of these; without them, not for minutes.
    pub(super) keepalive: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(8),
            keepalive: Duration::from_secs(5),
        }
    }
}

/// Logs in at the first way that works.
pub(super) async fn open(
    access: &SshAccess,
    instance: &str,
    keys: &RunKeys,
    patience: Patience,
) -> Result<Way, RemoteError> {
    let key = keys.private()?.ok_or_else(|| {
        RemoteError::permanent(
            format!("{} is missing", keys.private_file().display()),
            "only the machine that rented the box has its key; `gpurun destroy` ends it from anywhere",
        )
    })?;
    let (mut tried, mut locked) = (Vec::new(), false);
    for endpoint in &access.endpoints {
        match enter(endpoint, instance, &access.user, &key, keys, patience).await {
            Ok(session) => {
                return Ok(Way {
                    session: Arc::new(session),
                    endpoint: endpoint.clone(),
                });
            }
            Err(Refusal::Stranger(message)) => {
                return Err(RemoteError::permanent(
                    message,
                    "whoever answers there is not the box that was rented: nothing was sent; `gpurun destroy` ends it",
                ));
            }
            Err(Refusal::No(why)) => tried.push(at(endpoint, &why)),
            Err(Refusal::Locked(why)) => {
                locked = true;
                tried.push(at(endpoint, &why));
            }
        }
    }
    let ways = match tried.as_slice() {
        [] => "its provider names no address".to_owned(),
        ways => ways.join("; "),
    };
    Err(RemoteError {
        locked,
        ..RemoteError::temporary(
            format!("no way into box {instance} by SSH: {ways}"),
            "a box may take minutes to answer; `gpurun status` says when it is given back",
        )
    })
}

fn at(endpoint: &SshEndpoint, why: &str) -> String {
    format!("{}:{}: {why}", endpoint.host, endpoint.port)
}
