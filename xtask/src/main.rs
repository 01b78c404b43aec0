//! Set-up and checks of this repository: `cargo xtask <command>`.

mod libtorch;
mod output;

use std::process::ExitCode;

use crate::output::{complain, say};

const HELP: &str = "\
Usage: cargo xtask <command> [options]

Commands:
  libtorch [--dir DIR] [--verify]   fetch the CPU libtorch set that the trainer links
                                    (DIR: else $LIBTORCH, else .libtorch in the workspace)
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
        "libtorch" => Ok(libtorch::run(options)?),
        "help" | "--help" | "-h" => {
            say(HELP);
            Ok(())
        }
        unknown => Err(format!("unknown command `{unknown}`\n\n{HELP}").into()),
    }
}
