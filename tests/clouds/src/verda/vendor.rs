use std::time::Duration;

use chrono::{DateTime, Utc};
use serde_json::json;

use super::token::Tokens;
use super::{catalog, create, instances, keys, refuse, volumes};
use crate::{
    Call, Cloud, Identity, Machine, Operation, Reply, Request, SimConfig, SimError, TooMany,
    Vendor, World, number,
};

/// Verda as its own client sees it.
#[derive(Debug, Default)]
pub struct Verda {
    tokens: Tokens,
}

impl Verda {
    /// Puts it up.
    ///
    /// # Errors
    /// [`SimError`]: the port is taken, or the boxes' kind can't run here.
    pub fn start(config: SimConfig) -> Result<Cloud, SimError> {
        Cloud::start(Box::new(Self::default()), config)
    }
}

impl Vendor for Verda {
    fn name(&self) -> &'static str {
        "verda"
    }

    fn stock(&self, _: DateTime<Utc>) -> Vec<Machine> {
        catalog::machines()
    }

    /// Its API knows no port: sshd is on 22 of the address.
    fn ssh_port(&self) -> Option<u16> {
        Some(22)
    }

    fn operation(&self, request: &Request) -> Operation {
        match (request.method.as_str(), route(&request.segments())) {
            (
                "GET",
                [
                    "instance-types" | "instance-availability" | "volume-types",
                    ..,
                ],
            ) => Operation::Search,
            ("GET", ["instances"]) => Operation::List,
            ("GET", ["instances", _]) => Operation::Show,
            ("POST", ["instances"]) => Operation::Create,
            ("PUT", ["instances"]) => match request.body["action"].as_str() {
                Some("delete" | "hibernate") => Operation::Destroy,
                Some("start" | "restore") => Operation::Start,
                Some("shutdown") => Operation::Stop,
                _ => Operation::Manage,
            },
            (_, ["sshkeys", ..]) => Operation::Keys,
            (_, ["volumes", ..]) => Operation::Volumes,
            ("GET", ["balance"]) => Operation::Account,
            _ => Operation::Other,
        }
    }

    fn target(&self, request: &Request) -> Option<String> {
        match route(&request.segments()) {
            ["instances", id] => Some((*id).to_owned()),
            _ => instances::ids(&request.body).into_iter().next(),
        }
    }

    /// None is published.
    fn minimum_interval(&self, _: Operation) -> Option<Duration> {
        Some(Duration::ZERO)
    }

    fn too_many(&self, form: TooMany, minimum: Duration) -> Reply {
        let reply = match form {
            TooMany::Text => Reply::text(429, "Too Many Requests"),
            TooMany::Json | TooMany::RetryAfter => {
                refuse::refuse(429, "too_many_requests", "Too many requests")
            }
        };
        if form == TooMany::RetryAfter {
            return reply.with("retry-after", minimum.as_secs().max(1).to_string());
        }
        reply
    }

    fn key_refused(&self) -> Reply {
        refuse::bad_token()
    }

    fn broken(&self, status: u16) -> Reply {
        refuse::server_error(status)
    }

    fn answer(&mut self, world: &mut World, call: &Call<'_>) -> Reply {
        let request = call.request;
        let segments = request.segments();
        let route = route(&segments);
        if let ("POST", ["oauth2", "token"]) = (request.method.as_str(), route) {
            return self.tokens.answer(world, request);
        }
        if self.tokens.identify(world, request) != Identity::Account {
            return refuse::bad_token();
        }
        match (request.method.as_str(), route) {
            ("GET", ["instance-types"]) => catalog::types(world, call),
            ("GET", ["instance-availability"]) => catalog::availability(world),
            ("GET", ["instance-availability", kind]) => {
                catalog::is_available(world, kind, request.parameter("location_code"))
            }
            ("GET", ["volume-types"]) => volumes::types(),
            ("GET", ["instances"]) => instances::list(world, request.parameter("status")),
            ("GET", ["instances", id]) => instances::show(world, id),
            ("POST", ["instances"]) => create::answer(world, call),
            ("PUT", ["instances"]) => instances::act(world, call),
            (_, ["sshkeys", rest @ ..]) => keys::answer(world, request, rest),
            ("GET", ["volumes"]) => volumes::list(world),
            ("GET", ["balance"]) => Reply::json(
                200,
                &json!({"amount": number(world.balance()), "currency": "usd"}),
            ),
            ("GET", ["locations"]) => Reply::json(200, &catalog::locations()),
            ("GET", ["images"]) => Reply::json(200, &json!([])),
            _ => refuse::no_such("Route"),
        }
    }
}

/// Below the base URL, with or without its version.
fn route<'a, 'b>(segments: &'b [&'a str]) -> &'b [&'a str] {
    match segments {
        ["v1", rest @ ..] => rest,
        all => all,
    }
}
