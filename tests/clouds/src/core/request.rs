//! One request and one reply, as far as a simulated vendor needs them.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What a request is about, whoever the vendor: faults and rate limits are told by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    /// Offers, catalog, types.
    Search,
    /// Renting a box.
    Create,
    /// One box.
    Show,
    /// All boxes.
    List,
    /// Starting a stopped box.
    Start,
    /// Stopping a box.
    Stop,
    /// Ending a box.
    Destroy,
    /// Other changes of a box.
    Manage,
    /// Account, balance.
    Account,
    /// The account's or a box's SSH keys.
    Keys,
    /// Volumes.
    Volumes,
    /// The rest.
    Other,
}

/// What a client sent.
#[derive(Debug, Clone)]
pub struct Request {
    /// `GET`, …
    pub method: String,
    /// Without the query.
    pub path: String,
    /// The query, decoded.
    pub query: Vec<(String, String)>,
    /// Lower-case names.
    pub headers: Vec<(String, String)>,
    /// The body as JSON, `Null` if it isn't.
    pub body: Value,
    /// The body as text.
    pub text: String,
}

impl Request {
    pub(crate) fn new(
        method: &str,
        path_and_query: &str,
        headers: Vec<(String, String)>,
        text: String,
    ) -> Self {
        let (path, query) = path_and_query
            .split_once('?')
            .unwrap_or((path_and_query, ""));
        let query = form_urlencoded::parse(query.as_bytes());
        Self {
            method: method.to_owned(),
            path: path.to_owned(),
            query: query
                .map(|(name, value)| (name.into_owned(), value.into_owned()))
                .collect(),
            headers,
            body: serde_json::from_str(&text).unwrap_or(Value::Null),
            text,
        }
    }

    /// The path's parts, empty ones left out: `/api/v0/asks/7/` is `["api", "v0", "asks", "7"]`.
    #[must_use]
    pub fn segments(&self) -> Vec<&str> {
        self.path
            .split('/')
            .filter(|part| !part.is_empty())
            .collect()
    }

    /// A header's value, by its lower-case name.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        find(&self.headers, name)
    }

    /// A parameter of the query.
    #[must_use]
    pub fn parameter(&self, name: &str) -> Option<&str> {
        find(&self.query, name)
    }

    /// The bearer token.
    #[must_use]
    pub fn bearer(&self) -> Option<&str> {
        self.header("authorization")?.strip_prefix("Bearer ")
    }
}

fn find<'a>(pairs: &'a [(String, String)], name: &str) -> Option<&'a str> {
    let found = pairs.iter().find(|(key, _)| key == name);
    found.map(|(_, value)| value.as_str())
}

/// What the client gets.
#[derive(Debug, Clone)]
pub struct Reply {
    /// HTTP status.
    pub status: u16,
    /// Beyond content type and length.
    pub headers: Vec<(&'static str, String)>,
    /// MIME type.
    pub content_type: &'static str,
    /// The bytes, as text.
    pub body: String,
}

impl Reply {
    /// The body as JSON, `Null` if it isn't.
    #[must_use]
    pub fn value(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or(Value::Null)
    }

    /// A JSON reply.
    #[must_use]
    pub fn json(status: u16, body: &Value) -> Self {
        Self {
            status,
            headers: Vec::new(),
            content_type: "application/json",
            body: body.to_string(),
        }
    }

    /// A plain text reply.
    #[must_use]
    pub fn text(status: u16, body: &str) -> Self {
        Self {
            status,
            headers: Vec::new(),
            content_type: "text/plain",
            body: body.to_owned(),
        }
    }

    /// With one more header.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    /// With another MIME type.
    #[must_use]
    pub fn typed(mut self, content_type: &'static str) -> Self {
        self.content_type = content_type;
        self
    }
}

/// A request in the log. Credentials are never in it.
#[derive(Debug, Clone, Serialize)]
pub struct Logged {
    /// When, in the simulator's time.
    pub at: DateTime<Utc>,
    /// What it was about.
    pub operation: Operation,
    /// `GET`, …
    pub method: String,
    /// Without the query.
    pub path: String,
    /// The query, decoded.
    pub query: Vec<(String, String)>,
    /// Who the client says it is.
    pub user_agent: Option<String>,
    /// What it sent.
    pub body: Value,
    /// The status it got; `None`: the connection was cut.
    pub status: Option<u16>,
}
