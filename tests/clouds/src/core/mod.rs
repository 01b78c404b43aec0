//! What all simulated vendors share: time, machines, rentals, the bill, faults, and the server.

mod admin;
mod bill;
mod clock;
mod cloud;
mod config;
mod error;
mod fault;
mod machine;
mod money;
mod passing;
mod phase;
mod rental;
mod request;
mod server;
mod state;
mod trouble;
mod vendor;
mod volume;
mod world;

pub use bill::{Charge, Rate, When};
pub use clock::{Clock, ClockKind};
pub use cloud::Cloud;
pub use config::SimConfig;
pub use error::SimError;
pub use fault::{Absence, Armed, Arms, Fault, TooMany};
pub use machine::Machine;
pub use money::{decimal, number, per_hour_of_month};
pub use phase::{Phase, Why};
pub use rental::{Order, Rental};
pub use request::{Logged, Operation, Reply, Request};
pub use state::{RentalState, State};
pub use vendor::{Call, Identity, Vendor};
pub use volume::SimVolume;
pub use world::{AccountKey, Started, World};
