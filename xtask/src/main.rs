//! Set-up and checks of this repository: `cargo xtask <command>`.

mod bench_cli;
mod bench_doctor;
mod bench_options;
mod bench_train;
mod clouds;
mod demo;
mod dist;
mod libtorch;
mod node;
mod output;
mod prerequisites;
mod process;
mod python;
mod test;

use std::process::ExitCode;

use crate::output::{complain, say};

const HELP: &str = "\
Usage: cargo xtask <command> [options]

Commands:
  demo              set up, build, draw a data set, and run the main job on this machine
  test [--full]     everything a change must pass; --full adds whole trainings and real LibreYOLO
  dist              both programs as one bundle for x86-64 Linux boxes, in target/dist
  libtorch [--dir DIR] [--verify]   fetch the CPU libtorch set that the trainer links
                                    (DIR: else $LIBTORCH, else .libtorch in the workspace)
  clouds VENDOR [--port P] …        a simulated marketplace to play with (vast, lambda)
  bench-cli [--quick] [--json]      what starting gpurun costs, against a hello-world of its crates
  bench-doctor [--quick] [--json]   how fast gpurun doctor checks a data set, against the real LibreYOLO's
  bench-train [--quick] [--json]    how fast gpurun-train trains, against the real LibreYOLO
";

type Error = Box<dyn std::error::Error>;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match dispatch(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            complain(&error);
            ExitCode::FAILURE
        }
    }
}

fn dispatch(arguments: &[String]) -> Result<(), Error> {
    let Some((command, options)) = arguments.split_first() else {
        return Err(format!("no command given\n\n{HELP}").into());
    };
    match command.as_str() {
        "demo" => demo::run_demo(options),
        "test" => test::run_all(options),
        "dist" => dist::run_dist(options),
        "libtorch" => Ok(libtorch::run(options)?),
        "clouds" => clouds::simulate(options),
        "bench-cli" => bench_cli::run(options),
        "bench-doctor" => bench_doctor::run(options),
        "bench-train" => bench_train::run(options),
        "help" | "--help" | "-h" => {
            say(HELP);
            Ok(())
        }
        unknown => Err(format!("unknown command `{unknown}`\n\n{HELP}").into()),
    }
}
