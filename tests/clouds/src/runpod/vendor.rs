use std::time::Duration;

use chrono::{DateTime, Utc};
use serde_json::json;

use super::{catalog, create, graphql, keys, market, pods, refuse, volumes};
use crate::{
    Call, Cloud, Machine, Operation, Reply, Request, SimConfig, SimError, TooMany, Vendor, World,
};

/// RunPod as its own clients see it.
#[derive(Debug, Default)]
pub struct RunPod {
    /// Every reply has its own.
    request_number: u64,
}

impl RunPod {
    /// Puts it up.
    ///
    /// # Errors
    /// [`SimError`]: the port is taken, or the boxes' kind can't run here.
    pub fn start(config: SimConfig) -> Result<Cloud, SimError> {
        Cloud::start(Box::new(Self::default()), config)
    }
}

impl Vendor for RunPod {
    fn name(&self) -> &'static str {
        "runpod"
    }

    fn stock(&self, _: DateTime<Utc>) -> Vec<Machine> {
        market::machines()
    }

    fn operation(&self, request: &Request) -> Operation {
        match (request.method.as_str(), request.segments().as_slice()) {
            (_, ["graphql"]) => {
                graphql::operation(request.body["query"].as_str().unwrap_or_default())
            }
            (_, ["v2", "catalog", ..]) => Operation::Search,
            ("GET", ["v2", "pods"]) => Operation::List,
            ("POST", ["v2", "pods"]) => Operation::Create,
            ("GET", ["v2", "pods", _]) => Operation::Show,
            ("DELETE", ["v2", "pods", _]) => Operation::Destroy,
            ("POST", ["v2", "pods", _, "action"]) => match request.body["action"].as_str() {
                Some("start") => Operation::Start,
                Some("stop") => Operation::Stop,
                Some("terminate") => Operation::Destroy,
                _ => Operation::Manage,
            },
            (_, ["v2", "pods", ..]) => Operation::Manage,
            (_, ["v2", "network-volumes", ..]) => Operation::Volumes,
            (_, ["v2", "account", "ssh-keys"]) => Operation::Keys,
            (_, ["v2", "account" | "billing", ..]) => Operation::Account,
            _ => Operation::Other,
        }
    }

    fn target(&self, request: &Request) -> Option<String> {
        match request.segments().as_slice() {
            ["v2", "pods", id, ..] => Some((*id).to_owned()),
            _ => None,
        }
    }

    /// Sixty a minute, which the vendor counts by the minute; here they keep their distance.
    fn minimum_interval(&self, _: Operation) -> Option<Duration> {
        Some(Duration::from_secs(1))
    }

    fn too_many(&self, form: TooMany, minimum: Duration) -> Reply {
        let detail = "rate limit exceeded for the minute window";
        match form {
            TooMany::Text => Reply::text(429, "Too Many Requests"),
            TooMany::Json => refuse::refuse(429, detail),
            TooMany::RetryAfter => refuse::refuse(429, detail)
                .with("retry-after", minimum.as_secs().max(1).to_string())
                .with("ratelimit", "\"minute\";r=0;t=12"),
        }
    }

    fn key_refused(&self) -> Reply {
        refuse::refuse(401, "Unauthorized")
    }

    fn broken(&self, status: u16) -> Reply {
        refuse::refuse(status, "Something went wrong. Please try again later.")
    }

    fn answer(&mut self, world: &mut World, call: &Call<'_>) -> Reply {
        self.request_number += 1;
        let reply = self.routed(world, call);
        reply
            .with("x-request-id", format!("req-{:08x}", self.request_number))
            .with("ratelimit-policy", "\"minute\";q=60;w=60")
    }
}

impl RunPod {
    fn routed(&self, world: &mut World, call: &Call<'_>) -> Reply {
        let request = call.request;
        let segments = request.segments();
        let is_graphql = segments == ["graphql"];
        if request.bearer() != Some(world.config.key.as_str()) {
            return match is_graphql {
                true => Reply::json(401, &json!({"errors": [{"message": "Unauthorized"}]})),
                false => self.key_refused(),
            };
        }
        match (request.method.as_str(), segments.as_slice()) {
            ("POST", ["graphql"]) => graphql::answer(world, call),
            ("GET", ["v2", "catalog", "gpus"]) => catalog::gpus(world, call),
            ("GET", ["v2", "catalog", "datacenters"]) => catalog::data_centers(world),
            ("GET", ["v2", "pods"]) => pods::list(world),
            ("POST", ["v2", "pods"]) => create::answer(world, call),
            ("GET", ["v2", "pods", id]) => pods::show(world, id),
            ("PATCH", ["v2", "pods", id]) => pods::rename(world, request, id),
            ("DELETE", ["v2", "pods", id]) => pods::terminate(world, call, id),
            ("POST", ["v2", "pods", id, "action"]) => pods::act(world, call, id),
            (_, ["v2", "network-volumes", rest @ ..]) => volumes::answer(world, request, rest),
            (_, ["v2", "account", "ssh-keys"]) => keys::answer(world, request),
            _ => refuse::refuse(404, "no route"),
        }
    }
}
