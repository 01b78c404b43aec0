//! Integration tests, one binary.

mod agent;
mod architecture;
mod cost;
mod docs;
