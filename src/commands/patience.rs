//! How long a verb waits for what it asked for.

use crate::job::duration;
use std::time::Duration;

#[derive(Debug, clap::Args)]
pub(super) struct Patience {
    /// How long to wait for it; what is wanted is in the ledger, and `gpurun reap` goes on after that
    #[arg(long, value_name = "DURATION", default_value = "10m", value_parser = parse)]
    timeout: Duration,
}

impl Patience {
    pub(super) fn time(&self) -> Option<Duration> {
        Some(self.timeout)
    }
}

fn parse(text: &str) -> Result<Duration, String> {
    duration(text, None)
        .map(Duration::from_secs)
        .map_err(|unreadable| format!("{}; {} is wanted", unreadable.message, unreadable.expected))
}
