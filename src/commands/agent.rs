//! `gpurun agent`: what the other verbs run on a box. Hidden, and all its answers are JSON.

mod receive;

use std::path::PathBuf;

use serde::Serialize;

use crate::agent::{self, AgentError, EndConfig, Layout};
use crate::error::{Failure, Result};
use crate::exit_code::ExitCode;
use crate::ui::Ui;

use self::receive::Receive;

/// What runs on the box
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,
    /// The box's agent.json; its folder holds the agent's files
    #[arg(long, global = true, value_name = "FILE")]
    spec: Option<PathBuf>,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// Start an agent that outlives this command; asking again is safe
    Start,
    /// Be what starts the agent, and starts it again
    Keep,
    /// Be the agent
    Run,
    /// Print all that is known about the training
    Report,
    /// Push what is whole and not at the destination
    Push,
    /// End the training and push its last files
    End {
        /// Seconds between SIGTERM and SIGKILL
        #[arg(long, default_value_t = 30, value_name = "SECONDS")]
        grace: u32,
        /// Seconds to wait for the last push
        #[arg(long, default_value_t = 120, value_name = "SECONDS")]
        push_timeout: u32,
        /// Why, for the exit report
        #[arg(long, default_value = "asked to end")]
        why: String,
    },
    /// Take a data set from standard input
    Receive(Receive),
    /// Measure what the box really has
    Proof,
}

impl Args {
    pub(crate) fn run(self, ui: &Ui) -> Result<ExitCode> {
        let layout = self.layout()?;
        match self.verb {
            Verb::Start => answer(ui, agent::start(&layout)),
            Verb::Keep => agent::keep(&layout)
                .map(|()| ExitCode::Success)
                .map_err(failure),
            Verb::Run => agent::run(&layout)
                .map(|()| ExitCode::Success)
                .map_err(failure),
            Verb::Report => answer(ui, Ok(agent::report(&layout))),
            Verb::Push => {
                let reply = agent::push(&layout).map_err(failure)?;
                let code = if reply.not_pushed.is_empty() {
                    ExitCode::Success
                } else {
                    ExitCode::Failure
                };
                answer(ui, Ok(reply)).map(|_| code)
            }
            Verb::End {
                grace,
                push_timeout,
                why,
            } => {
                let config = EndConfig {
                    why,
                    grace_seconds: grace,
                    push_seconds: push_timeout,
                };
                answer(ui, agent::end(&layout, &config))
            }
            Verb::Receive(receive) => receive.run(ui),
            Verb::Proof => answer(ui, agent::proof(&layout.home)),
        }
    }

    fn layout(&self) -> Result<Layout> {
        let spec = match (&self.spec, std::env::home_dir()) {
            (Some(spec), _) => spec.clone(),
            (None, Some(home)) => home.join("gpurun").join("agent.json"),
            (None, None) => {
                return Err(Failure::new(
                    ExitCode::Usage,
                    "there is no home directory to look for gpurun/agent.json in",
                    "name the file: --spec FILE",
                ));
            }
        };
        Layout::around(&spec).map_err(|error| {
            let message = format!("{}: {error}", spec.display());
            Failure::new(ExitCode::Box, message, "does its folder exist?")
        })
    }
}

fn answer(ui: &Ui, reply: Result<impl Serialize, AgentError>) -> Result<ExitCode> {
    let reply = reply.map_err(failure)?;
    let text = serde_json::to_string(&reply).expect("the answers hold no non-string keys");
    ui.data(&text);
    Ok(ExitCode::Success)
}

fn failure(error: AgentError) -> Failure {
    Failure::new(ExitCode::Box, error.to_string(), error.remedy())
}
