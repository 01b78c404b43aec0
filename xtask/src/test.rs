//! `cargo xtask test`: everything a change must pass; `--full` adds the long ones.

use crate::process::{cargo, root, run};
use crate::{Error, libtorch, node, prerequisites, python};

/// Formatting, lints as errors, then every test of the workspace.
pub(crate) fn run_all(options: &[String]) -> Result<(), Error> {
    let full = match options {
        [] => false,
        [flag] if flag == "--full" => true,
        _ => return Err("usage: cargo xtask test [--full]".into()),
    };
    prerequisites::ensure_for_tests()?;
    run(cargo().args(["fmt", "--all", "--check"]))?;
    libtorch::run(&[])?;
    run(cargo().args([
        "clippy",
        "--workspace",
        "--all-targets",
        "--",
        "-D",
        "warnings",
    ]))?;
    let python = python::environment(if full {
        python::Set::Full
    } else {
        python::Set::Quick
    })?;
    let clients = python::clients()?;
    let node_clients = node::environment()?;
    // The command line's tests drive the companion binary too.
    run(cargo().args(["build", "--package", "gpurun-train"]))?;
    let mut test = cargo();
    test.args(["test", "--workspace", "--no-fail-fast"])
        .env("GPURUN_PYTHON", &python)
        .env("GPURUN_CLIENTS", &clients)
        .envs(node_clients.map(|folder| ("GPURUN_CLIENTS_NODE", folder)))
        .env("GPURUN_TRAIN", root().join("target/debug/gpurun-train"))
        // Two threads that spin for each other on a busy machine cost more than they bring.
        .env("OMP_WAIT_POLICY", "PASSIVE");
    if full {
        test.env("GPURUN_TEST_FULL", "1")
            .env("GPURUN_LIBREYOLO_PYTHON", &python);
    }
    run(&mut test)
}
