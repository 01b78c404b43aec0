use std::time::Duration;

use chrono::{DateTime, Utc};

use super::{Fault, Machine, Operation, Reply, Request, TooMany, World};

/// One vendor's API on the shared world.
pub trait Vendor: Send + 'static {
    /// `vast`, `lambda`, …
    fn name(&self) -> &'static str;

    /// The market when the configuration names none.
    fn stock(&self, now: DateTime<Utc>) -> Vec<Machine>;

    /// The port on which every box's sshd must be, where the API names none.
    fn ssh_port(&self) -> Option<u16> {
        None
    }

    /// What a request is about.
    fn operation(&self, request: &Request) -> Operation;

    /// The box a request names, for faults that strike one box.
    fn target(&self, request: &Request) -> Option<String>;

    /// The published minimum interval of an operation, per key.
    fn minimum_interval(&self, operation: Operation) -> Option<Duration>;

    /// "Too many requests", in one of the forms that the vendor uses.
    fn too_many(&self, form: TooMany, minimum: Duration) -> Reply;

    /// What it says to a key that it doesn't know any more.
    fn key_refused(&self) -> Reply;

    /// What it says when it is broken itself.
    fn broken(&self, status: u16) -> Reply {
        Reply::text(
            status,
            "upstream connect error or disconnect/reset before headers",
        )
    }

    /// What it says and does.
    fn answer(&mut self, world: &mut World, call: &Call<'_>) -> Reply;
}

/// A request and the faults that were armed for it.
#[derive(Debug)]
pub struct Call<'a> {
    /// What the client sent.
    pub request: &'a Request,
    /// What the vendor shall do wrong; the server has seen to those of the wire.
    pub faults: &'a [Fault],
    /// Where the simulator answers: `http://127.0.0.1:PORT`.
    pub base: &'a str,
}

/// Whose key a request carries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Identity {
    /// The account's.
    Account,
    /// One box's own, which may act on that box alone.
    Box(String),
    /// One that isn't known.
    Stranger,
    /// None was sent.
    Nobody,
}
