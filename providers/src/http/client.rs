//! Sending calls.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use backon::{ExponentialBuilder, Retryable, Sleeper};
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue, RETRY_AFTER};
use secrecy::{ExposeSecret, SecretString};

use super::call::Call;
use super::limiter::Limiter;
use super::refusal::Refusal;
use super::reply::Reply;
use super::timer::Timer;
use crate::config::CloudConfig;
use crate::error::{Error, ErrorKind, Operation, Result};

/// How long one call may take.
const CALL_DEADLINE: Duration = Duration::from_secs(30);
/// How long a read may take with all its tries and pauses.
const TOTAL_DEADLINE: Duration = Duration::from_secs(90);
const TRIES: usize = 5;
/// No answer is that long: three thousand offers are 10 MB.
const LONGEST_ANSWER: usize = 64 << 20;

/// A vendor's API: what is the same for all its accounts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Service {
    pub(crate) provider: &'static str,
    pub(crate) base_url: &'static str,
    /// What an answer that isn't what was asked for means; `None` for one that is. Pure.
    pub(crate) refusal: fn(&Reply) -> Option<Refusal>,
    /// Where the key goes, for a person without one.
    pub(crate) key_remedy: &'static str,
}

/// One account at one service.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    service: Service,
    base_url: String,
    /// The key's parts, and what else must never be seen.
    secrets: Vec<SecretString>,
    /// What opens the door: a key of one part, or a token that was had for one of several.
    bearer: Option<SecretString>,
    limiter: Limiter,
    timer: Arc<dyn Timer>,
}

/// A call that came to nothing, and when it may be tried again.
#[derive(Debug)]
struct Failed {
    error: Error,
    retry_after: Option<Duration>,
}

impl Client {
    /// Speaks to the service at `base_url`, else at its own address.
    pub(crate) fn new(service: Service, base_url: Option<&str>, config: &CloudConfig) -> Self {
        let base_url = base_url.unwrap_or(service.base_url).trim_end_matches('/');
        let secret = config.key.last().map_or("", |part| part.expose_secret());
        let bearer = match config.key.as_slice() {
            [key] => Some(key.clone()),
            _ => None,
        };
        let limits = config.rate_limits.then(|| config.timer.clone());
        Self {
            service,
            base_url: base_url.to_owned(),
            limiter: Limiter::new(&[base_url, secret], limits),
            secrets: config.key.clone(),
            bearer,
            timer: config.timer.clone(),
        }
    }

    /// Asks something that changes nothing; tried again while waiting may help, within the total deadline.
    ///
    /// # Errors
    /// The refusal, or the last of the failures.
    pub(crate) async fn read(&self, call: &Call) -> Result<Reply> {
        let give_up = self.timer.now() + TOTAL_DEADLINE;
        let pauses = ExponentialBuilder::default()
            .with_min_delay(Duration::from_millis(500))
            .with_max_delay(Duration::from_secs(20))
            .with_max_times(TRIES - 1)
            .with_jitter();
        let waits = Waits(self.timer.clone());
        let sent = || self.send(call);
        sent.retry(pauses)
            .sleep(waits)
            .when(|failed| failed.error.temporary)
            .adjust(|failed, pause| {
                let pause = pause?.max(failed.retry_after.unwrap_or_default());
                (self.timer.now() + pause < give_up).then_some(pause)
            })
            .await
            .map_err(|failed| failed.error)
    }

    /// Sends something that spends, changes or ends, exactly once.
    ///
    /// # Errors
    /// The refusal, or what went wrong; where the kind [may have acted](ErrorKind::may_have_acted), it may be done.
    pub(crate) async fn write(&self, call: &Call) -> Result<Reply> {
        self.send(call).await.map_err(|failed| failed.error)
    }

    /// An error of this service in our own words.
    pub(crate) fn error(
        &self,
        operation: Operation,
        kind: ErrorKind,
        message: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Error {
        Error::new(self.service.provider, operation, kind, message, remedy)
    }

    /// What can't be understood: it proves nothing, and looking again may help.
    pub(crate) fn garbled(&self, operation: Operation, why: impl Into<String>) -> Error {
        let remedy = "Try again; if it stays so, look at the provider's own console.";
        self.error(operation, ErrorKind::Unknown, why, remedy)
            .with_temporary(true)
    }

    /// The same account, behind a token that was given for its key.
    pub(crate) fn with_token(&self, token: &SecretString) -> Self {
        let mut with_token = self.clone();
        with_token.secrets.push(token.clone());
        with_token.bearer = Some(token.clone());
        with_token
    }

    pub(crate) fn has_key(&self) -> bool {
        !self.secrets.is_empty()
    }

    /// The error of a call that takes a key, without one.
    pub(crate) fn no_key(&self, operation: Operation) -> Error {
        self.error(
            operation,
            ErrorKind::Credentials,
            "there is no key",
            self.service.key_remedy,
        )
    }

    async fn send(&self, call: &Call) -> Result<Reply, Failed> {
        let headers = self.headers(call.operation)?;
        let also = call.also.into_iter();
        let endpoints: Vec<_> = also.chain([call.endpoint]).collect();
        self.limiter.turn(&endpoints).await;
        let url = format!("{}{}", self.base_url, call.path);
        let mut request = http(self.service.provider, call.operation)?
            .request(call.method.clone(), url)
            .headers(headers)
            .timeout(CALL_DEADLINE);
        if !call.query.is_empty() {
            request = request.query(&call.query);
        }
        if let Some(body) = call.whole_body() {
            request = request.json(&body);
        }
        let answer = async { self.received(request.send().await?).await };
        let reply = answer.await.map_err(|error| self.broken(call, &error))?;
        match (self.service.refusal)(&reply) {
            None => Ok(reply),
            Some(refusal) => Err(self.refused(call, &reply, refusal)),
        }
    }

    fn headers(&self, operation: Operation) -> Result<HeaderMap, Failed> {
        let mut headers = HeaderMap::new();
        if let Some(key) = &self.bearer {
            let bearer = HeaderValue::from_str(&format!("Bearer {}", key.expose_secret()));
            let mut bearer = bearer.map_err(|_| {
                let message = "the key holds characters that no key has";
                self.error(
                    operation,
                    ErrorKind::Credentials,
                    message,
                    self.service.key_remedy,
                )
            })?;
            bearer.set_sensitive(true);
            headers.insert(AUTHORIZATION, bearer);
        }
        Ok(headers)
    }

    async fn received(&self, mut response: reqwest::Response) -> reqwest::Result<Reply> {
        let status = response.status().as_u16();
        let retry_after = response
            .headers()
            .get(RETRY_AFTER)
            .and_then(|value| value.to_str().ok()?.trim().parse().ok())
            .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await? {
            body.extend_from_slice(&chunk);
            if body.len() > LONGEST_ANSWER {
                body.clear();
                break;
            }
        }
        let mut text = String::from_utf8_lossy(&body).into_owned();
        for secret in self.secrets.iter().map(ExposeSecret::expose_secret) {
            if !secret.is_empty() && text.contains(secret) {
                text = text.replace(secret, "***");
            }
        }
        Ok(Reply {
            status,
            text,
            retry_after,
        })
    }

    /// No answer: whatever was sent may have been done.
    fn broken(&self, call: &Call, error: &reqwest::Error) -> Failed {
        let why = if error.is_timeout() {
            format!("no answer within {} s", CALL_DEADLINE.as_secs())
        } else if error.is_connect() {
            format!("no connection to {}{}", self.base_url, cause(error))
        } else {
            format!("the connection broke{}", cause(error))
        };
        let remedy = "Check the network, and look before trying again.";
        Failed {
            error: self.error(call.operation, ErrorKind::Unavailable, why, remedy),
            retry_after: None,
        }
    }

    fn refused(&self, call: &Call, reply: &Reply, refusal: Refusal) -> Failed {
        let retry_after = refusal.pause.or(reply.retry_after);
        if refusal.kind == ErrorKind::RateLimited {
            let pause = retry_after.unwrap_or(call.endpoint.interval);
            self.limiter.pause(call.endpoint, pause);
        }
        let Refusal {
            kind,
            temporary,
            message,
            remedy,
            pause: _,
        } = refusal;
        let error = self.error(call.operation, kind, message, remedy);
        Failed {
            error: error.with_temporary(temporary),
            retry_after,
        }
    }
}

impl From<Error> for Failed {
    fn from(error: Error) -> Self {
        Self {
            error,
            retry_after: None,
        }
    }
}

/// The innermost reason, which never names the address with its query.
fn cause(error: &reqwest::Error) -> String {
    let mut source = std::error::Error::source(error);
    let mut innermost = None;
    while let Some(next) = source {
        innermost = Some(next.to_string());
        source = next.source();
    }
    innermost.map_or_else(String::new, |reason| format!(": {reason}"))
}

/// Sleeps by the client's own time.
struct Waits(Arc<dyn Timer>);

impl Sleeper for Waits {
    type Sleep = std::pin::Pin<Box<dyn Future<Output = ()> + Send>>;

    fn sleep(&self, time: Duration) -> Self::Sleep {
        let timer = self.0.clone();
        Box::pin(async move { timer.sleep(time).await })
    }
}

/// The process's one HTTP client. It keeps no connection open: one belongs to the runtime it was opened in, and verbs
/// start a runtime for each thing they do. Nothing is redirected: a write that is sent on is a write sent twice.
fn http(provider: &'static str, operation: Operation) -> Result<&'static reqwest::Client> {
    static HTTP: OnceLock<Result<reqwest::Client, String>> = OnceLock::new();
    HTTP.get_or_init(|| {
        // Fails where the program has chosen one already, which does as well.
        let _ = rustls::crypto::ring::default_provider().install_default();
        reqwest::Client::builder()
            .user_agent(concat!("gpurun/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(Duration::from_secs(10))
            .redirect(reqwest::redirect::Policy::none())
            .pool_max_idle_per_host(0)
            .build()
            .map_err(|error| format!("no HTTP client{}", cause(&error)))
    })
    .as_ref()
    .map_err(|why| {
        let remedy = "Check that the system's certificates can be read.";
        Error::new(
            provider,
            operation,
            ErrorKind::Unavailable,
            why.clone(),
            remedy,
        )
    })
}
