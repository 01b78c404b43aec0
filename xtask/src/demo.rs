//! `cargo xtask demo`: the main job, from nothing to trained weights and a closed bill.

use std::process::Command;

use crate::output::say;
use crate::process::{cargo, root, run};
use crate::{Error, libtorch, prerequisites};

const JOB: &str = "examples/jobs/shapes.toml";

/// Sets up, builds, draws the data set and launches the example job on this machine.
pub(crate) fn run_demo(options: &[String]) -> Result<(), Error> {
    if !options.is_empty() {
        return Err("usage: cargo xtask demo".into());
    }
    prerequisites::ensure()?;
    libtorch::run(&[])?;
    let mut build = cargo();
    build.args(["build", "--release"]);
    for package in ["gpurun", "gpurun-train", "gpurun-dataset"] {
        build.args(["--package", package]);
    }
    run(&mut build)?;
    let programs = root().join("target/release");
    run(Command::new(programs.join("draw-shapes"))
        .current_dir(root())
        .arg("demo/shapes"))?;
    let state = root().join("demo/state");
    let gpurun = programs.join("gpurun");
    run(Command::new(&gpurun)
        .current_dir(root())
        .env("GPURUN_HOME", &state)
        .args(["launch", "--yes", JOB]))?;
    say("\nWhat it left in the ledger:\n");
    run(Command::new(&gpurun)
        .current_dir(root())
        .env("GPURUN_HOME", &state)
        .args(["status", "--all"]))?;
    say("\nMore: GPURUN_HOME=demo/state target/release/gpurun --help");
    Ok(())
}
