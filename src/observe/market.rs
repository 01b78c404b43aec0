//! What all providers have, asked at once.

use crate::error::{Failure, Result};
use crate::exit_code::ExitCode;
use futures_util::future::join_all;
use gpurun_pricing::{HourlyRate, Offer};
use gpurun_providers::{Account, Instance, OfferRequest, Provider, Volume, VolumeRequest};
use std::fmt;
use std::time::Duration;

/// A provider that is silent longer than this holds nobody up.
const PATIENCE: Duration = Duration::from_secs(20);

/// A provider that couldn't be read: what it has is unknown, not nothing.
#[derive(Debug)]
pub(crate) struct Unread {
    pub(crate) provider: &'static str,
    pub(crate) why: String,
}

impl fmt::Display for Unread {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // An error of a provider begins with its name.
        match self.why.strip_prefix(self.provider) {
            Some(_) => formatter.write_str(&self.why),
            None => write!(formatter, "{}: {}", self.provider, self.why),
        }
    }
}

/// Every provider's offers, and who couldn't be asked.
pub(crate) async fn search_all(
    providers: &[&dyn Provider],
    request: &OfferRequest,
) -> (Vec<Offer>, Vec<Unread>) {
    ask_all(providers, async |provider| provider.search(request).await).await
}

/// One account, or why it can't be read.
pub(crate) type AccountState = std::result::Result<Account, String>;

/// Every account, in the order of its provider.
pub(crate) async fn accounts(providers: &[&dyn Provider]) -> Vec<AccountState> {
    ask_each(providers, async |provider| provider.account().await).await
}

/// Every box of every account, with its provider's name.
pub(crate) async fn boxes(
    providers: &[&dyn Provider],
) -> (Vec<(&'static str, Instance)>, Vec<Unread>) {
    let list = async |provider: &dyn Provider| {
        let listed = provider.list_mine().await?;
        let named = listed.into_iter().map(|one| (provider.name(), one));
        Ok(named.collect())
    };
    ask_all(providers, list).await
}

/// Every volume of every account, with its provider's name.
pub(crate) async fn volumes(
    providers: &[&dyn Provider],
) -> (Vec<(&'static str, Volume)>, Vec<Unread>) {
    let list = async |provider: &dyn Provider| {
        let Some(volumes) = provider.volumes() else {
            return Ok(Vec::new());
        };
        let listed = volumes.list().await?;
        Ok(listed
            .into_iter()
            .map(|volume| (provider.name(), volume))
            .collect())
    };
    ask_all(providers, list).await
}

/// A volume that is to be mounted, with its provider's name.
///
/// # Errors
/// When no provider that was asked has it.
pub(crate) async fn volume(
    providers: &[&dyn Provider],
    id: &str,
) -> Result<(&'static str, Volume)> {
    let (found, unread) = volumes(providers).await;
    if let Some(found) = found.into_iter().find(|(_, volume)| volume.id == id) {
        return Ok(found);
    }
    let mut lines = vec![format!("there is no volume {id} to mount")];
    lines.extend(unread.iter().map(ToString::to_string));
    Err(Failure::new(
        ExitCode::Usage,
        lines.join("\n"),
        "`gpurun volumes` lists those of every account",
    ))
}

/// What a new volume would cost; `None` where the provider bills only what is on it.
pub(crate) async fn volume_rate(
    provider: &dyn Provider,
    request: &VolumeRequest,
) -> Result<Option<HourlyRate>> {
    match provider.volumes() {
        Some(volumes) => Ok(volumes.rate(request).await?),
        None => Ok(None),
    }
}

/// What they have, together.
async fn ask_all<T>(
    providers: &[&dyn Provider],
    ask: impl AsyncFn(&dyn Provider) -> gpurun_providers::Result<Vec<T>>,
) -> (Vec<T>, Vec<Unread>) {
    let answers = ask_each(providers, ask).await;
    let (mut found, mut unread) = (Vec::new(), Vec::new());
    for (provider, answer) in providers.iter().zip(answers) {
        match answer {
            Ok(some) => found.extend(some),
            Err(why) => unread.push(Unread {
                provider: provider.name(),
                why,
            }),
        }
    }
    (found, unread)
}

/// All at the same time, each with its own deadline.
async fn ask_each<T>(
    providers: &[&dyn Provider],
    ask: impl AsyncFn(&dyn Provider) -> gpurun_providers::Result<T>,
) -> Vec<std::result::Result<T, String>> {
    let asking = providers.iter().map(|provider| async {
        match tokio::time::timeout(PATIENCE, ask(*provider)).await {
            Ok(Ok(found)) => Ok(found),
            Ok(Err(error)) => Err(error.to_string()),
            Err(_elapsed) => Err(format!("no answer in {} s", PATIENCE.as_secs())),
        }
    });
    join_all(asking).await
}
