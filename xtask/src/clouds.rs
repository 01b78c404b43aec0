//! `cargo xtask clouds VENDOR [options]`: a simulated marketplace to play with.

use crate::Error;
use crate::process::{cargo, run};

/// Builds the simulators and runs one until it is interrupted.
pub(crate) fn simulate(options: &[String]) -> Result<(), Error> {
    let mut simulator = cargo();
    simulator.args(["run", "--quiet", "--package", "gpurun-clouds", "--"]);
    run(simulator.args(options))
}
