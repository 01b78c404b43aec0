//! One file per verb: `Args`, whose doc comments are the help, and `run`.

mod agent;
pub(crate) mod cost;

use crate::{error::Result, exit_code::ExitCode, ui::Ui};
use clap::{CommandFactory, Parser, Subcommand};

/// Rents a GPU, trains on it, gets the weights out, and stops the bill by arithmetic.
#[derive(Debug, Parser)]
#[command(
    name = "gpurun",
    version,
    max_term_width = 100,
    arg_required_else_help = true
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Global {
    /// Print one versioned JSON document on stdout instead of text
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// No talk on stderr, only errors
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    Cost(Box<cost::Args>),
    #[command(hide = true)]
    Agent(agent::Args),
}

impl Verb {
    pub(crate) fn run(self, ui: &Ui) -> Result<ExitCode> {
        match self {
            Self::Cost(args) => args.run(ui),
            Self::Agent(args) => args.run(ui),
        }
    }
}

/// The whole command line, for generated documentation and completions.
#[must_use]
pub fn command() -> clap::Command {
    Cli::command()
}
