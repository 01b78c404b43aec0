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

    /// Waits for a call's turn at all the endpoints it counts for.
    pub(super) async fn turn(&self, endpoints: &[Endpoint]) {
        let Some(timer) = &self.timer else { return };
        let now = timer.now();
        let at = self.take(endpoints, now);
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

    /// One moment that suits all of them: each one's next turn counts from when the call is really sent.
    fn take(&self, endpoints: &[Endpoint], now: Duration) -> Duration {
        let mut slots = slots().lock().unwrap_or_else(PoisonError::into_inner);
        let key = |endpoint: &Endpoint| (self.account, endpoint.name);
        let free = endpoints.iter().filter_map(|it| slots.get(&key(it)));
        let at = free.fold(now, |at, free| at.max(*free));
        for endpoint in endpoints {
            slots.insert(key(endpoint), at + endpoint.interval);
        }
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
        one.turn(&[SLOW]).await;
        assert_eq!(timer.now(), Duration::ZERO, "the first waits for nobody");
        same.turn(&[SLOW]).await;
        assert_eq!(timer.now(), Duration::from_secs(3));
        other.turn(&[SLOW]).await;
        one.turn(&[Endpoint::every("another", 1000)]).await;
        assert_eq!(
            timer.now(),
            Duration::from_secs(3),
            "another account, another endpoint"
        );
        one.pause(SLOW, Duration::from_secs(60));
        same.turn(&[SLOW]).await;
        assert_eq!(timer.now(), Duration::from_secs(63));
    }

    #[tokio::test]
    async fn a_call_that_counts_for_two_keeps_its_distance_in_both() {
        let timer = Arc::new(Virtual::default());
        let limiter = Limiter::new(&["two limits test"], Some(timer.clone()));
        let (wide, narrow) = (
            Endpoint::every("wide", 1000),
            Endpoint::every("own", 12_000),
        );
        limiter.turn(&[wide]).await;
        limiter.turn(&[narrow, wide]).await;
        assert_eq!(timer.now(), Duration::from_secs(1));
        limiter.turn(&[wide]).await;
        assert_eq!(timer.now(), Duration::from_secs(2));
        limiter.turn(&[narrow, wide]).await;
        assert_eq!(
            timer.now(),
            Duration::from_secs(13),
            "from when it was sent, not from when it asked"
        );
    }
}
