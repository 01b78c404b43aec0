//! One file per verb: `Args`, whose doc comments are the help, and `run`.

mod agent;
mod ask;
pub(crate) mod cost;
mod cron;
mod destroy;
mod doctor;
mod explain;
mod launch;
mod logs;
mod offers;
mod orphans;
mod patience;
mod providers;
mod pull;
mod push;
mod reap;
mod size;
mod ssh;
mod start;
mod status;
mod stop;
mod volumes;
mod wait;
mod which_run;

use crate::{error::Result, exit_code::ExitCode, ui::Ui};
use clap::{CommandFactory, Parser, Subcommand};

/// Rents a GPU, trains on it, gets the weights out, and stops the bill by arithmetic
///
/// A provider is who rents: a cloud, or `local`, this machine. A box is one rented machine with its disk.
/// A run is one job from its launch to the end of its bill, whatever boxes it needs; it has a name and an
/// id, and every verb takes either, or the start of the id.
#[derive(Debug, Parser)]
#[command(
    name = "gpurun",
    version,
    max_term_width = 100,
    arg_required_else_help = true,
    after_long_help = "\
Examples:
  gpurun launch -n --gpu 4090x8        what it would do and cost; changes nothing
  gpurun launch --gpu cpu --data DIR   train on this machine, to try it
  gpurun status                        what every run does, costs and waits for
  gpurun stop RUN                      end the training, keep its disk
  gpurun cron install                  end boxes on time also when nobody looks"
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
    /// Say which settings are in force and where each comes from
    #[arg(long, short, global = true)]
    pub(crate) verbose: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    Launch(Box<launch::Args>),
    Status(status::Args),
    Logs(logs::Args),
    Ssh(ssh::Args),
    Wait(wait::Args),
    Stop(stop::Args),
    Start(start::Args),
    Destroy(destroy::Args),
    Pull(pull::Args),
    Push(push::Args),
    Cost(Box<cost::Args>),
    Offers(offers::Args),
    Volumes(volumes::Args),
    Providers(providers::Args),
    Reap(reap::Args),
    Cron(cron::Args),
    Orphans(orphans::Args),
    Explain(explain::Args),
    Doctor(doctor::Args),
    Size(Box<size::Args>),
    #[command(hide = true)]
    Agent(agent::Args),
}

impl Verb {
    pub(crate) fn run(self, ui: &Ui) -> Result<ExitCode> {
        match self {
            Self::Launch(args) => args.run(ui),
            Self::Status(args) => args.run(ui),
            Self::Logs(args) => args.run(ui),
            Self::Ssh(args) => args.run(ui),
            Self::Wait(args) => args.run(ui),
            Self::Stop(args) => args.run(ui),
            Self::Start(args) => args.run(ui),
            Self::Destroy(args) => args.run(ui),
            Self::Pull(args) => args.run(ui),
            Self::Push(args) => args.run(ui),
            Self::Cost(args) => args.run(ui),
            Self::Offers(args) => args.run(ui),
            Self::Volumes(args) => args.run(ui),
            Self::Providers(args) => args.run(ui),
            Self::Reap(args) => args.run(ui),
            Self::Cron(args) => args.run(ui),
            Self::Orphans(args) => args.run(ui),
            Self::Explain(args) => args.run(ui),
            Self::Doctor(args) => args.run(ui),
            Self::Size(args) => args.run(ui),
            Self::Agent(args) => args.run(ui),
        }
    }
}

/// The whole command line, for generated documentation and completions.
#[must_use]
pub fn command() -> clap::Command {
    Cli::command()
}
