//! HTTP: reads a request, lets the armed faults strike, has the vendor answer.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use chrono::{DateTime, TimeDelta, Utc};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::{Call, Fault, Logged, Operation, Reply, Request, TooMany, Vendor, World, admin};

/// When an operation was last asked for with a key.
type LastCalls = HashMap<(Operation, Option<String>), DateTime<Utc>>;

/// A vendor and its world behind one address.
pub(crate) struct Simulator {
    pub(crate) world: Mutex<World>,
    vendor: Mutex<Box<dyn Vendor>>,
    last_calls: Mutex<LastCalls>,
    base: String,
}

/// The connection is cut instead of an answer.
#[derive(Debug, thiserror::Error)]
#[error("the connection is cut on purpose")]
struct Cut;

impl Simulator {
    pub(crate) fn new(world: World, vendor: Box<dyn Vendor>, base: String) -> Self {
        Self {
            world: Mutex::new(world),
            vendor: Mutex::new(vendor),
            last_calls: Mutex::default(),
            base,
        }
    }

    /// The world, even after a test panicked with it in hand.
    pub(crate) fn world(&self) -> std::sync::MutexGuard<'_, World> {
        self.world.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One request: what to wait first, and the reply, `None` if the connection shall be cut.
    pub(crate) fn handle(&self, request: &Request) -> (Duration, Option<Reply>) {
        let mut vendor = self.vendor.lock().unwrap_or_else(PoisonError::into_inner);
        let mut world = self.world();
        if request.path.starts_with("/_sim/") {
            return (Duration::ZERO, Some(admin::answer(&mut world, request)));
        }
        world.settle();
        let operation = vendor.operation(request);
        let faults = world.faults.strike(operation, request);
        let delay = faults.iter().map(latency).sum();
        let reply = match self.before(vendor.as_ref(), &world, operation, request, &faults) {
            Early::Reply(reply) => Some(reply),
            Early::Cut => None,
            Early::Go => {
                let target = vendor.target(request);
                for fault in &faults {
                    if strikes_at_once(fault) {
                        world.strike(fault, target.as_deref());
                    }
                }
                let call = Call {
                    request,
                    faults: &faults,
                    base: &self.base,
                };
                let reply = vendor.answer(&mut world, &call);
                after(vendor.as_ref(), reply, &faults)
            }
        };
        let at = world.now();
        let body = without_secrets(&request.body, &world.config.key);
        world.log.push(Logged {
            at,
            operation,
            method: request.method.clone(),
            path: request.path.clone(),
            query: request
                .query
                .iter()
                .filter(|(name, _)| name != "api_key")
                .cloned()
                .collect(),
            user_agent: request.header("user-agent").map(str::to_owned),
            body,
            status: reply.as_ref().map(|reply| reply.status),
        });
        (delay, reply)
    }

    fn before(
        &self,
        vendor: &dyn Vendor,
        world: &World,
        operation: Operation,
        request: &Request,
        faults: &[Fault],
    ) -> Early {
        let minimum = vendor
            .minimum_interval(operation)
            .unwrap_or(Duration::from_secs(1));
        for fault in faults {
            match fault {
                Fault::DropBeforeCommit => return Early::Cut,
                Fault::ErrorBeforeCommit { status } => return Early::Reply(vendor.broken(*status)),
                Fault::TooManyRequests { form } => {
                    return Early::Reply(vendor.too_many(*form, minimum));
                }
                Fault::AuthExpired => return Early::Reply(vendor.key_refused()),
                _ => {}
            }
        }
        if world.config.rate_limits && self.is_too_soon(operation, request, world.now(), minimum) {
            return Early::Reply(vendor.too_many(TooMany::Text, minimum));
        }
        Early::Go
    }

    fn is_too_soon(
        &self,
        operation: Operation,
        request: &Request,
        now: DateTime<Utc>,
        minimum: Duration,
    ) -> bool {
        let mut last = self
            .last_calls
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let key = (operation, request.bearer().map(str::to_owned));
        let minimum = TimeDelta::from_std(minimum).unwrap_or(TimeDelta::MAX);
        let soon = last.get(&key).is_some_and(|then| now - *then < minimum);
        if !soon {
            last.insert(key, now);
        }
        soon
    }
}

/// What happens before the vendor sees a request.
enum Early {
    Go,
    Cut,
    Reply(Reply),
}

/// Where a vendor takes its key, or what was had for it, in a body.
const SECRET_FIELDS: [&str; 2] = ["client_secret", "refresh_token"];

fn without_secrets(body: &Value, key: &str) -> Value {
    let mut body = body.clone();
    for (name, value) in body.as_object_mut().into_iter().flatten() {
        if SECRET_FIELDS.contains(&name.as_str()) || value.as_str() == Some(key) {
            *value = json!("***");
        }
    }
    body
}

fn latency(fault: &Fault) -> Duration {
    match fault {
        Fault::Latency { ms } => Duration::from_millis(*ms),
        _ => Duration::ZERO,
    }
}

fn strikes_at_once(fault: &Fault) -> bool {
    matches!(
        fault,
        Fault::HostDeath
            | Fault::Outbid
            | Fault::CreditExhausted
            | Fault::ContractEnd
            | Fault::GpusTakenAfterStop
            | Fault::ZeroGpuResume
    )
}

fn after(vendor: &dyn Vendor, mut reply: Reply, faults: &[Fault]) -> Option<Reply> {
    for fault in faults {
        match fault {
            Fault::DropAfterCommit => return None,
            Fault::ErrorAfterCommit { status } => reply = vendor.broken(*status),
            Fault::EmptyBody => reply = Reply::json(200, &Value::Null).emptied(),
            Fault::HtmlBody => {
                let page = "<!DOCTYPE html><html><head><title>Just a moment...</title></head><body></body></html>";
                reply = Reply::text(200, page).typed("text/html");
            }
            Fault::TruncatedBody => {
                let half = reply.body.chars().count() / 2;
                reply.body = reply.body.chars().take(half).collect();
            }
            Fault::SuccessFalse => reply = Reply::json(200, &json!({"success": false})),
            _ => {}
        }
    }
    Some(reply)
}

impl Reply {
    fn emptied(mut self) -> Self {
        self.body.clear();
        self
    }
}

/// Accepts connections for ever.
pub(crate) async fn serve(listener: TcpListener, simulator: Arc<Simulator>) {
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            continue;
        };
        let simulator = Arc::clone(&simulator);
        tokio::spawn(async move {
            let service = service_fn(move |request| respond(Arc::clone(&simulator), request));
            // An error here is a client that went away, or a cut on purpose.
            let _ = http1::Builder::new()
                .timer(TokioTimer::new())
                .serve_connection(TokioIo::new(stream), service)
                .await;
        });
    }
}

async fn respond(
    simulator: Arc<Simulator>,
    incoming: hyper::Request<Incoming>,
) -> Result<hyper::Response<Full<Bytes>>, Cut> {
    let request = read(incoming).await.map_err(|_| Cut)?;
    let answered = tokio::task::spawn_blocking(move || simulator.handle(&request)).await;
    let (delay, reply) = answered.map_err(|_| Cut)?;
    if !delay.is_zero() {
        tokio::time::sleep(delay).await;
    }
    let reply = reply.ok_or(Cut)?;
    let mut response = hyper::Response::builder()
        .status(reply.status)
        .header("content-type", reply.content_type);
    for (name, value) in reply.headers {
        response = response.header(name, value);
    }
    response
        .body(Full::new(Bytes::from(reply.body)))
        .map_err(|_| Cut)
}

async fn read(incoming: hyper::Request<Incoming>) -> Result<Request, hyper::Error> {
    let (parts, body) = incoming.into_parts();
    let bytes = body.collect().await?.to_bytes();
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let headers = parts.headers.iter().map(|(name, value)| {
        let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
        (name.as_str().to_owned(), value)
    });
    let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
    Ok(Request::new(
        parts.method.as_str(),
        path,
        headers.collect(),
        text,
    ))
}
