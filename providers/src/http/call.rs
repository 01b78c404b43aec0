//! One request, before it is sent.

use std::time::Duration;

use reqwest::Method;
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;

use crate::error::Operation;

/// What a vendor counts calls by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Endpoint {
    pub(crate) name: &'static str,
    /// The shortest time between two calls.
    pub(crate) interval: Duration,
}

impl Endpoint {
    pub(crate) const fn every(name: &'static str, milliseconds: u64) -> Self {
        Self {
            name,
            interval: Duration::from_millis(milliseconds),
        }
    }
}

/// One call of a vendor's API.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    /// What it is for, as errors say it.
    pub(crate) operation: Operation,
    pub(crate) endpoint: Endpoint,
    /// A wider limit that it counts for too.
    pub(super) also: Option<Endpoint>,
    pub(super) method: Method,
    /// Below the base URL, with its first slash. Never holds a secret.
    pub(super) path: String,
    pub(super) query: Vec<(&'static str, String)>,
    pub(super) body: Option<Value>,
    /// Fields of the body that nothing shows.
    secret: Vec<(&'static str, SecretString)>,
}

impl Call {
    pub(crate) fn get(operation: Operation, endpoint: Endpoint, path: impl Into<String>) -> Self {
        Self::new(Method::GET, operation, endpoint, path)
    }

    pub(crate) fn post(operation: Operation, endpoint: Endpoint, path: impl Into<String>) -> Self {
        Self::new(Method::POST, operation, endpoint, path)
    }

    pub(crate) fn put(operation: Operation, endpoint: Endpoint, path: impl Into<String>) -> Self {
        Self::new(Method::PUT, operation, endpoint, path)
    }

    pub(crate) fn delete(
        operation: Operation,
        endpoint: Endpoint,
        path: impl Into<String>,
    ) -> Self {
        Self::new(Method::DELETE, operation, endpoint, path)
    }

    fn new(
        method: Method,
        operation: Operation,
        endpoint: Endpoint,
        path: impl Into<String>,
    ) -> Self {
        Self {
            operation,
            endpoint,
            also: None,
            method,
            path: path.into(),
            query: Vec::new(),
            body: None,
            secret: Vec::new(),
        }
    }

    /// For a vendor that limits some calls apart, and all of them together.
    pub(crate) fn also_counted(self, endpoint: Endpoint) -> Self {
        Self {
            also: Some(endpoint),
            ..self
        }
    }

    pub(crate) fn query(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.query.push((name, value.into()));
        self
    }

    pub(crate) fn body(self, body: Value) -> Self {
        Self {
            body: Some(body),
            ..self
        }
    }

    /// One more field of the body, which no log or `Debug` form shows.
    pub(crate) fn secret(mut self, name: &'static str, value: &SecretString) -> Self {
        self.secret.push((name, value.clone()));
        self
    }

    /// What is sent.
    pub(super) fn whole_body(&self) -> Option<Value> {
        let mut body = self.body.clone();
        for (name, value) in &self.secret {
            let body = body.get_or_insert_with(|| Value::Object(serde_json::Map::new()));
            body[*name] = Value::from(value.expose_secret());
        }
        body
    }
}
