//! Vast.ai: a marketplace of other people's machines, per second, with stop and start.

mod account;
mod create;
mod filter;
mod instances;
mod list;
mod logs;
mod market;
mod offer;
mod refuse;
mod search;
mod vendor;
mod view;
mod volumes;

pub use vendor::Vast;
