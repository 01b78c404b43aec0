//! What is measured, and where: the built programs, and two ledgers of a thousand runs.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use super::succeed;
use crate::Error;
use crate::process::root;

/// The state directory whose ledger has 1,000 closed runs.
pub(super) const CLOSED: &str = "closed";
/// The one whose ledger has 990 closed runs and 10 open ones.
pub(super) const OPEN: &str = "open";
/// A run in both.
pub(super) const RUN: &str = "trained";

pub(super) struct World {
    programs: PathBuf,
    folder: PathBuf,
}

impl World {
    /// Makes the ledgers: real runs on this machine, then copies of them.
    pub(super) fn make() -> Result<Self, Error> {
        let target = root().join("target");
        let world = Self {
            programs: target.join("release"),
            folder: target.join("bench-cli"),
        };
        if world.folder.exists() {
            std::fs::remove_dir_all(&world.folder)?;
        }
        std::fs::create_dir_all(&world.folder)?;
        world.train(CLOSED)?;
        world.fill(CLOSED, &["--closed", "1000"])?;

        // The copies of the open run stay open when its box, the only one there ever was, is gone.
        world.launch(OPEN, "long", "sleep 600")?;
        world.fill(OPEN, &["--open", "11", "--closed", "0"])?;
        world.verb(OPEN, &["destroy", "long", "--force", "--yes"])?;
        world.train(OPEN)?;
        world.fill(OPEN, &["--open", "10", "--closed", "990"])?;
        succeed(&mut world.hello_ledger())?;
        Ok(world)
    }

    pub(super) fn hello(&self) -> Command {
        self.program("hello")
    }

    pub(super) fn hello_ledger(&self) -> Command {
        let mut command = self.program("hello-ledger");
        command.arg(self.folder.join("empty.db"));
        command
    }

    /// gpurun with the ledger of `state`, and nothing of the user's own environment.
    pub(super) fn gpurun(&self, state: &str, arguments: &[&str]) -> Command {
        let mut command = self.program("gpurun");
        command
            .env("HOME", self.folder.join("home"))
            .env("GPURUN_HOME", self.folder.join(state))
            .args(arguments);
        command
    }

    fn program(&self, name: &str) -> Command {
        let mut command = Command::new(self.programs.join(name));
        command
            .current_dir(&self.folder)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .stdin(Stdio::null())
            .stdout(Stdio::null());
        command
    }

    fn verb(&self, state: &str, arguments: &[&str]) -> Result<(), Error> {
        succeed(self.gpurun(state, arguments).arg("--quiet"))
    }

    fn launch(&self, state: &str, name: &str, command: &str) -> Result<(), Error> {
        let to = format!("{state}/weights");
        self.verb(
            state,
            &[
                "launch",
                "--detach",
                "--gpu",
                "cpu",
                "--name",
                name,
                "--to",
                &to,
                "--command",
                command,
            ],
        )
    }

    /// One training from its launch to its closed bill.
    fn train(&self, state: &str) -> Result<(), Error> {
        self.launch(state, RUN, "echo weights > best.pt")?;
        self.verb(state, &["wait", RUN])
    }

    fn fill(&self, state: &str, arguments: &[&str]) -> Result<(), Error> {
        let ledger = self.folder.join(state).join("ledger.db");
        succeed(self.program("fill-ledger").arg(ledger).args(arguments))
    }
}
