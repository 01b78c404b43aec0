//! `POST /oauth2/token`: the key's two parts, or a refresh token, for an hour's access.

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::json;

use super::refuse::refuse;
use crate::{Identity, Reply, Request, World};

/// The first part of the account's key; the second is [`SimConfig::key`](crate::SimConfig).
pub const CLIENT_ID: &str = "sim-client-id";

const SECONDS: i64 = 3600;

/// Tokens that were given, each with its end.
#[derive(Debug, Default)]
pub(crate) struct Tokens(Vec<Token>);

#[derive(Debug)]
struct Token {
    access: String,
    refresh: String,
    until: DateTime<Utc>,
}

impl Tokens {
    pub(crate) fn answer(&mut self, world: &World, request: &Request) -> Reply {
        let text = |name: &str| request.body[name].as_str().unwrap_or_default();
        let is_let_in = match text("grant_type") {
            "client_credentials" => {
                (text("client_id"), text("client_secret")) == (CLIENT_ID, world.config.key.as_str())
            }
            "refresh_token" => self.0.iter().any(|it| it.refresh == text("refresh_token")),
            _ => return refuse(400, "invalid_request", "unknown grant_type"),
        };
        if !is_let_in {
            return refuse(401, "unauthorized_request", "Invalid client id or secret");
        }
        let token = Token {
            access: format!("at-{:032x}", fastrand::u128(..)),
            refresh: format!("rt-{:032x}", fastrand::u128(..)),
            until: world.now() + TimeDelta::seconds(SECONDS),
        };
        let reply = json!({
            "access_token": token.access, "refresh_token": token.refresh, "expires_in": SECONDS,
            "scope": "cloud-api-v1", "token_type": "Bearer",
        });
        self.0.push(token);
        Reply::json(200, &reply)
    }

    pub(crate) fn identify(&self, world: &World, request: &Request) -> Identity {
        let Some(bearer) = request.bearer() else {
            return Identity::Nobody;
        };
        let mut all = self.0.iter();
        match all.find(|it| it.access == bearer && world.now() < it.until) {
            Some(_) => Identity::Account,
            None => Identity::Stranger,
        }
    }
}
