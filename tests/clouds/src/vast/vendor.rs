use std::collections::HashSet;
use std::time::Duration;

use chrono::{DateTime, Utc};
use serde_json::json;

use super::{account, create, instances, list, logs, market, refuse, search, volumes};
use crate::{
    Call, Cloud, Identity, Machine, Operation, Reply, Request, SimConfig, SimError, TooMany,
    Vendor, World,
};

/// Hours in the month of its storage prices, as its offers' own numbers have it.
pub(crate) const MONTH: u32 = 720;

/// Vast.ai as its own clients see it.
#[derive(Debug, Default)]
pub struct Vast {
    /// Logs that were asked for once: the storage says 404 the first time.
    pub(crate) logs_asked: HashSet<String>,
}

impl Vast {
    /// Puts it up.
    ///
    /// # Errors
    /// [`SimError`]: the port is taken, or the boxes' kind can't run here.
    pub fn start(config: SimConfig) -> Result<Cloud, SimError> {
        Cloud::start(Box::new(Self::default()), config)
    }
}

impl Vendor for Vast {
    fn name(&self) -> &'static str {
        "vast"
    }

    fn stock(&self, now: DateTime<Utc>) -> Vec<Machine> {
        market::machines(now)
    }

    fn operation(&self, request: &Request) -> Operation {
        let method = request.method.as_str();
        match (method, version_free(&request.segments())) {
            (_, ["bundles"] | ["search", "asks"] | ["gpu_names", ..]) => Operation::Search,
            ("PUT", ["asks", _]) => Operation::Create,
            ("GET", ["instances"]) => Operation::List,
            (_, ["ssh", ..] | ["instances", _, "ssh", ..]) => Operation::Keys,
            ("GET", ["instances", id]) if is_number(id) => Operation::Show,
            ("DELETE", ["instances", _]) => Operation::Destroy,
            ("PUT", ["instances", _]) => match request.body["state"].as_str() {
                Some("running") => Operation::Start,
                Some("stopped") => Operation::Stop,
                _ => Operation::Manage,
            },
            ("PUT", ["instances", ..]) => Operation::Manage,
            (_, ["users", ..] | ["charges" | "invoices", ..]) => Operation::Account,
            (_, ["volumes", ..]) => Operation::Volumes,
            _ => Operation::Other,
        }
    }

    fn target(&self, request: &Request) -> Option<String> {
        let segments = request.segments();
        let found = version_free(&segments).iter().find(|part| is_number(part));
        found.map(|id| (*id).to_owned())
    }

    fn minimum_interval(&self, operation: Operation) -> Option<Duration> {
        let seconds = match operation {
            Operation::Create => 4.5,
            Operation::Show => 2.0,
            Operation::Destroy => 3.0,
            Operation::Search => 6.0,
            Operation::Volumes => 5.5,
            Operation::Other => return None,
            _ => 1.0,
        };
        Some(Duration::from_secs_f64(seconds))
    }

    fn too_many(&self, form: TooMany, minimum: Duration) -> Reply {
        let text = format!(
            "API requests too frequent endpoint threshold={:.1}",
            minimum.as_secs_f64()
        );
        match form {
            TooMany::Text => Reply::text(429, &text),
            TooMany::Json => Reply::json(429, &json!({"detail": text})),
            TooMany::RetryAfter => Reply::json(
                429,
                &json!({"success": false, "error": "rate_limit_exceeded", "msg": text}),
            )
            .with("retry-after", minimum.as_secs().max(1).to_string()),
        }
    }

    fn key_refused(&self) -> Reply {
        refuse::bad_key(404)
    }

    fn answer(&mut self, world: &mut World, call: &Call<'_>) -> Reply {
        let request = call.request;
        let segments = request.segments();
        let path = version_free(&segments);
        match path {
            ["gpu_names", ..] => return search::gpu_names(world),
            ["bundles"] | ["search", "asks"] => return search::answer(world, call),
            ["s3", name] => return logs::file(self, world, name),
            _ => {}
        }
        match identify(world, request) {
            Identity::Account => {}
            Identity::Box(id) if may_box(request, path, &id) => {}
            Identity::Box(_) => return refuse::forbidden(),
            Identity::Nobody => return refuse::no_key(),
            Identity::Stranger if path.first() == Some(&"users") => return refuse::bad_key(401),
            Identity::Stranger => return refuse::bad_key(404),
        }
        let method = request.method.as_str();
        match (method, path) {
            ("PUT", ["asks", ask]) => create::answer(world, call, ask),
            ("GET", ["instances"]) => list::answer(world, request),
            ("GET", ["instances", "filters"]) => Reply::json(200, &json!({"filters": []})),
            ("PUT", ["instances", "request_logs", id]) => logs::ask(world, call, id),
            ("PUT", ["instances", verb @ ("reboot" | "recycle" | "bid_price"), id]) => {
                instances::manage(world, request, verb, id)
            }
            (_, ["instances", id, "ssh", rest @ ..]) => account::box_keys(world, request, id, rest),
            ("GET", ["instances", id]) => instances::show(world, call, id),
            ("PUT", ["instances", id]) => instances::change(world, request, id),
            ("DELETE", ["instances", id]) => instances::destroy(world, call, id),
            (_, ["ssh", rest @ ..]) => account::keys(world, request, rest),
            ("GET", ["users", "current"]) => account::current(world),
            ("GET", ["charges"]) => account::charges(world),
            ("GET", ["invoices"]) => Reply::json(
                200,
                &json!({"success": true, "count": 0, "total": 0, "next_token": null, "results": []}),
            ),
            (_, ["volumes", rest @ ..]) => volumes::answer(world, request, rest),
            _ => refuse::no_route(&request.path),
        }
    }
}

/// The path without `/api/v0` or `/api/v1`.
fn version_free<'a, 'b>(segments: &'b [&'a str]) -> &'b [&'a str] {
    match segments {
        ["api", "v0" | "v1", rest @ ..] => rest,
        other => other,
    }
}

fn is_number(text: &str) -> bool {
    text.parse::<u64>().is_ok()
}

/// Whose key it is: the account's, or the restricted one that a box got when it was made.
fn identify(world: &World, request: &Request) -> Identity {
    let Some(key) = request.bearer().or_else(|| request.parameter("api_key")) else {
        return Identity::Nobody;
    };
    if key == world.config.key {
        return Identity::Account;
    }
    let mut boxes = world.rentals.iter();
    let owner = boxes.find(|rental| rental.order.details["instance_api_key"] == key);
    owner.map_or(Identity::Stranger, |rental| {
        Identity::Box(rental.id().to_owned())
    })
}

/// A box's own key starts, stops, shows and ends that box, and nothing else.
fn may_box(request: &Request, path: &[&str], id: &str) -> bool {
    let own = matches!(path, ["instances", it] if *it == id);
    own && (request.method != "PUT" || request.body.get("state").is_some())
}
