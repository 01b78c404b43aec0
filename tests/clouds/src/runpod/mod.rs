//! RunPod: REST v2 as its documentation of 2026-08-20 and `@runpod/mcp-server` 4.0.0 have it, and of its GraphQL what the SDK
//! 1.12.0 sends.

mod catalog;
mod create;
mod graphql;
mod keys;
mod market;
mod pods;
mod refuse;
mod vendor;
mod view;
mod volumes;

pub use vendor::RunPod;
