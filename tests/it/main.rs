//! Integration tests, one binary.

mod agent;
mod architecture;
mod cost;
mod cron;
mod docs;
mod main_job;
mod refusals;
mod world;
