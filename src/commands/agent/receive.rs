//! `gpurun agent receive`: the box's end of a data set's way.

use std::io::stdin;
use std::path::PathBuf;

use serde::Serialize;

use crate::error::{Failure, Result};
use crate::exit_code::ExitCode;
use crate::stage::{Arrival, is_there, receive_stream};
use crate::ui::Ui;

#[derive(Debug, clap::Args)]
pub(super) struct Receive {
    /// Where to, relative to the home
    #[arg(long)]
    dest: PathBuf,
    /// What it must be
    #[arg(long)]
    fingerprint: String,
    /// How large it is
    #[arg(long)]
    bytes: u64,
    /// What the box may hold
    #[arg(long)]
    disk_limit: Option<u64>,
    /// It is an archive of the person's own
    #[arg(long)]
    archive: bool,
    /// The file's name of a description that comes first in the stream
    #[arg(long)]
    description: Option<String>,
}

#[derive(Serialize)]
struct Reply {
    /// It was there before.
    already: bool,
}

impl Receive {
    pub(super) fn run(self, ui: &Ui) -> Result<ExitCode> {
        let home = std::env::home_dir().ok_or_else(|| {
            let message = "there is no home directory to put the data set in";
            Failure::new(ExitCode::Box, message, "set HOME")
        })?;
        let already = is_there(&home, &self.dest, &self.fingerprint);
        if !already {
            let arrival = Arrival {
                archive: self.archive,
                fingerprint: self.fingerprint,
                bytes: self.bytes,
                home,
                dest: self.dest,
                disk_limit: self.disk_limit,
                description: self.description,
            };
            receive_stream(&arrival, stdin().lock())?;
        }
        let reply = serde_json::to_string(&Reply { already }).expect("a truth value is JSON");
        ui.data(&reply);
        Ok(ExitCode::Success)
    }
}
