//! One way to speak to a vendor over HTTP, with what every vendor needs: the key kept out of sight, a deadline for each call
//! and for all tries together, published rate limits kept on our side, reads tried again and writes sent once.

mod call;
mod client;
mod limiter;
mod refusal;
mod reply;
mod timer;

pub(crate) use call::{Call, Endpoint};
pub(crate) use client::{Client, Service};
pub(crate) use refusal::Refusal;
pub(crate) use reply::Reply;
pub use timer::{RealTimer, Timer};
