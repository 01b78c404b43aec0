//! Integration tests, one binary.

mod agent;
mod architecture;
mod cost;
mod docs;
mod main_job;
mod refusals;
mod world;
