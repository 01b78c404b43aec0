use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chrono::{DateTime, Utc};
use serde_json::{Value, json};

use super::{catalog, file_systems, instances, keys, launch, refuse};
use crate::{
    Call, Cloud, Identity, Machine, Operation, Reply, Request, SimConfig, SimError, TooMany,
    Vendor, World,
};

/// Lambda Cloud as its own clients see it.
#[derive(Debug, Default)]
pub struct Lambda;

impl Lambda {
    /// Puts it up.
    ///
    /// # Errors
    /// [`SimError`]: the port is taken, or the boxes' kind can't run here.
    pub fn start(config: SimConfig) -> Result<Cloud, SimError> {
        Cloud::start(Box::new(Self), config)
    }
}

impl Vendor for Lambda {
    fn name(&self) -> &'static str {
        "lambda"
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
            ("GET", ["instance-types"]) => Operation::Search,
            ("GET", ["instances"]) => Operation::List,
            ("GET", ["instances", _]) => Operation::Show,
            ("POST", ["instance-operations", "launch"]) => Operation::Create,
            ("POST", ["instance-operations", "terminate"]) => Operation::Destroy,
            ("POST", ["instance-operations", "restart"] | ["instances", _]) => Operation::Manage,
            (_, ["ssh-keys", ..]) => Operation::Keys,
            (_, ["file-systems" | "filesystems", ..]) => Operation::Volumes,
            _ => Operation::Other,
        }
    }

    fn target(&self, request: &Request) -> Option<String> {
        match route(&request.segments()) {
            ["instances", id] => Some((*id).to_owned()),
            _ => request.body["instance_ids"][0].as_str().map(str::to_owned),
        }
    }

    fn minimum_interval(&self, operation: Operation) -> Option<Duration> {
        let seconds = if operation == Operation::Create {
            12
        } else {
            1
        };
        Some(Duration::from_secs(seconds))
    }

    fn too_many(&self, form: TooMany, minimum: Duration) -> Reply {
        let reply = match form {
            TooMany::Text => Reply::text(429, "Too Many Requests"),
            TooMany::Json | TooMany::RetryAfter => refuse::refuse(
                429,
                "global/rate-limit-exceeded",
                "Too many requests.",
                "Try again later.",
            ),
        };
        if form == TooMany::RetryAfter {
            return reply.with("retry-after", minimum.as_secs().max(1).to_string());
        }
        reply
    }

    fn key_refused(&self) -> Reply {
        refuse::bad_key()
    }

    fn broken(&self, status: u16) -> Reply {
        refuse::internal_error(status)
    }

    fn answer(&mut self, world: &mut World, call: &Call<'_>) -> Reply {
        let request = call.request;
        if identify(world, request) != Identity::Account {
            return refuse::bad_key();
        }
        let segments = request.segments();
        match (request.method.as_str(), route(&segments)) {
            ("GET", ["instance-types"]) => catalog::answer(world, call),
            ("GET", ["instances"]) => instances::list(world),
            ("GET", ["instances", id]) => instances::show(world, id),
            ("POST", ["instances", id]) => instances::rename(world, request, id),
            ("POST", ["instance-operations", "launch"]) => launch::answer(world, call),
            ("POST", ["instance-operations", "terminate"]) => instances::terminate(world, call),
            ("POST", ["instance-operations", "restart"]) => instances::restart(world, request),
            (_, ["ssh-keys", rest @ ..]) => keys::answer(world, request, rest),
            ("GET", ["file-systems"]) => file_systems::list(world),
            ("POST", ["filesystems"]) => file_systems::create(world, request),
            ("DELETE", ["filesystems", id]) => file_systems::delete(world, id),
            ("GET", ["images" | "firewall-rules" | "firewall-rulesets"]) => {
                Reply::json(200, &json!({"data": []}))
            }
            _ => refuse::no_such("Specified resource does not exist."),
        }
    }
}

fn route<'a, 'b>(segments: &'b [&'a str]) -> &'b [&'a str] {
    match segments {
        ["api", "v1", rest @ ..] => rest,
        _ => &[],
    }
}

/// A bearer token, or the key as a user without a password.
fn identify(world: &World, request: &Request) -> Identity {
    let basic = request
        .header("authorization")
        .and_then(|value| value.strip_prefix("Basic "));
    if basic.is_some_and(|encoded| encoded == STANDARD.encode(format!("{}:", world.config.key))) {
        return Identity::Account;
    }
    match request.bearer() {
        Some(key) if key == world.config.key => Identity::Account,
        Some(_) => Identity::Stranger,
        None => Identity::Nobody,
    }
}

/// The envelope of everything that went well.
pub(crate) fn data(value: &Value) -> Reply {
    Reply::json(200, &json!({"data": value}))
}
