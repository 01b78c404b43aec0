//! A client's time, when it is the simulator's: waiting for a rate limit lets time pass there, and nobody waits.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use gpurun_clouds::{Cloud, SimConfig};
use gpurun_providers::{CloudConfig, Timer};

pub(crate) struct SimTime(pub(crate) Arc<Cloud>);

impl SimTime {
    /// A client of this simulator, which keeps the vendor's rate limits.
    pub(crate) fn config(cloud: &Arc<Cloud>) -> CloudConfig {
        CloudConfig {
            base_url: Some(cloud.url().to_owned()),
            second_url: Some(cloud.url().to_owned()),
            key: vec![cloud.key().into()],
            rate_limits: true,
            timer: Arc::new(Self(cloud.clone())),
        }
    }
}

/// A simulator that insists on the vendor's rate limits, for an account of its own: a port may be used again, and what a
/// client remembers of an account must not.
pub(crate) fn strict() -> SimConfig {
    SimConfig {
        rate_limits: true,
        key: format!("key-{:032x}", fastrand::u128(..)),
        ..SimConfig::default()
    }
}

impl std::fmt::Debug for SimTime {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the simulator's time")
    }
}

#[async_trait]
impl Timer for SimTime {
    fn now(&self) -> Duration {
        let since_1970 = self.0.now().timestamp_millis();
        Duration::from_millis(since_1970.try_into().expect("after 1970"))
    }

    async fn sleep(&self, time: Duration) {
        // Up to the next whole millisecond, which is as fine as this clock is.
        self.0.advance(time + Duration::from_millis(1));
    }
}
