//! Integration tests, one binary.

mod agent;
mod architecture;
mod clouds;
mod cost;
mod cron;
mod docs;
mod driver;
mod faults;
mod hostile;
mod json_docs;
mod main_job;
mod markets;
mod real_training;
mod refusals;
mod rented;
mod s3;
mod secrets;
mod volumes;
mod world;
