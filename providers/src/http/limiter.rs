//! Keeping to a vendor's published rate limits before it has to insist.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use super::call::Endpoint;
use super::timer::Timer;

/// The shortest time between two calls of one endpoint, for one account. All clients of this process that speak for the
/// same account share it.
#[derive(Clone, Debug)]
pub(super) struct Limiter {
    account: u64,
    /// `None`: the other side has no limits.
    timer: Option<Arc<dyn Timer>>,
}

type Slots = HashMap<(u64, &'static str), Duration>;

/// When each endpoint may be called again.
fn slots() -> &'static Mutex<Slots> {
    static SLOTS: OnceLock<Mutex<Slots>> = OnceLock::new();
    SLOTS.get_or_init(Mutex::default)
}

impl Limiter {
    pub(super) fn new(identity: &[&str], timer: Option<Arc<dyn Timer>>) -> Self {
        let mut hasher = DefaultHasher::new();
        identity.hash(&mut hasher);
        Self {
            account: hasher.finish(),
            timer,
        }
    }

    /// Waits for this call's turn.
    pub(super) async fn turn(&self, endpoint: Endpoint) {
        let Some(timer) = &self.timer else { return };
        let now = timer.now();
        let at = self.take(endpoint, now);
        if at > now {
            timer.sleep(at - now).await;
        }
    }

    /// The vendor asked for a pause: nobody calls the endpoint before it is over.
    pub(super) fn pause(&self, endpoint: Endpoint, pause: Duration) {
        let Some(timer) = &self.timer else { return };
        let until = timer.now() + pause;
        let mut slots = slots().lock().unwrap_or_else(PoisonError::into_inner);
        let next = slots.entry((self.account, endpoint.name)).or_default();
        *next = until.max(*next);
    }

    fn take(&self, endpoint: Endpoint, now: Duration) -> Duration {
        let mut slots = slots().lock().unwrap_or_else(PoisonError::into_inner);
        let next = slots.entry((self.account, endpoint.name)).or_default();
        let at = now.max(*next);
        *next = at + endpoint.interval;
        at
    }
}

#[cfg(test)]
mod tests {
    use async_trait::async_trait;

    use super::*;

    /// Sleeping makes it later, and nothing else does.
    #[derive(Debug, Default)]
    struct Virtual(Mutex<Duration>);

    #[async_trait]
    impl Timer for Virtual {
        fn now(&self) -> Duration {
            *self.0.lock().expect("no panic")
        }

        async fn sleep(&self, time: Duration) {
            *self.0.lock().expect("no panic") += time;
        }
    }

    const SLOW: Endpoint = Endpoint::every("slow", 3000);

    #[tokio::test]
    async fn calls_of_one_account_keep_their_distance() {
        let timer = Arc::new(Virtual::default());
        let limiter = |key| Limiter::new(&["limiter test", key], Some(timer.clone()));
        let (one, same, other) = (limiter("a"), limiter("a"), limiter("b"));
        one.turn(SLOW).await;
        assert_eq!(timer.now(), Duration::ZERO, "the first waits for nobody");
        same.turn(SLOW).await;
        assert_eq!(timer.now(), Duration::from_secs(3));
        other.turn(SLOW).await;
        one.turn(Endpoint::every("another", 1000)).await;
        assert_eq!(
            timer.now(),
            Duration::from_secs(3),
            "another account, another endpoint"
        );
        one.pause(SLOW, Duration::from_secs(60));
        same.turn(SLOW).await;
        assert_eq!(timer.now(), Duration::from_secs(63));
    }
}
