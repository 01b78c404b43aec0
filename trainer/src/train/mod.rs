//! A training run: set up, epochs, validation, checkpoints, end.
//!
//! [`Setup`] does everything that can fail for the user's reasons before anything is written. The run then
//! either completes, or ends with a [`TrainError`] that status.json tells.

mod autobatch;
mod device;
mod epoch;
mod error;
mod follow;
mod learner;
mod outcome;
mod precision;
mod profile;
mod restore;
mod run;
mod save;
mod session;
mod setup;
mod source;
mod state;
mod step;
mod val;
mod validate;

pub use device::usable_cpus;
pub use error::TrainError;
pub use outcome::Outcome;
pub use precision::Scaler;
pub use profile::{ProfileReport, Window, profile};
pub use run::train;
pub use setup::{Setup, check_batch};
pub use val::{ValReport, val};
