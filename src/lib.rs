//! The imperative shell of gpurun: parse, resolve settings, dispatch, exit code.
//!
//! Deciding lives in `gpurun-lifecycle`, money in `gpurun-pricing`, clouds in `gpurun-providers`.
//! Nothing here is a stable library API; the command line, its `--json` documents and its exit
//! codes are.

mod agent;
mod commands;
mod cron;
mod document;
mod drive;
mod error;
mod execute;
mod exit_code;
mod job;
mod launch;
mod observe;
mod orphans;
mod outbox;
mod progress;
mod reconcile;
mod remote;
mod settings;
mod shell;
mod sink;
mod stage;
mod store;
mod summary;
mod ui;
mod volumes;

use clap::Parser;

pub use commands::command;
pub use exit_code::ExitCode;

/// Parses the arguments, runs the verb and returns the documented exit code.
#[must_use]
pub fn main() -> std::process::ExitCode {
    let cli = match commands::Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return ui::usage(&error, json_was_asked(std::env::args_os())).into(),
    };
    let ui = ui::Ui::new(cli.global.json, cli.global.quiet, cli.global.verbose);
    match cli.verb.run(&ui) {
        Ok(code) => code.into(),
        Err(failure) => {
            ui.failure(&failure);
            failure.exit_code.into()
        }
    }
}

/// Whether `--json` stands among arguments that could not be parsed.
fn json_was_asked(arguments: impl Iterator<Item = std::ffi::OsString>) -> bool {
    arguments
        .take_while(|argument| argument != "--")
        .any(|argument| argument == "--json")
}
