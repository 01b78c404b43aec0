//! Time for rate limits and for waiting between tries: real for users, a simulator's own in tests.

use std::fmt::Debug;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use async_trait::async_trait;

/// A clock that only goes forward, and waiting by it.
#[async_trait]
pub trait Timer: Debug + Send + Sync {
    /// Since some moment that stays the same.
    fn now(&self) -> Duration;

    async fn sleep(&self, time: Duration);
}

/// The machine's time.
#[derive(Clone, Copy, Debug, Default)]
pub struct RealTimer;

#[async_trait]
impl Timer for RealTimer {
    fn now(&self) -> Duration {
        static START: OnceLock<Instant> = OnceLock::new();
        START.get_or_init(Instant::now).elapsed()
    }

    async fn sleep(&self, time: Duration) {
        tokio::time::sleep(time).await;
    }
}
