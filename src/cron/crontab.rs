//! The user's crontab through the `crontab` program: locked, kept as a copy, read back.

use super::CronError;
use nix::fcntl::{Flock, FlockArg};
use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

/// How often a change that somebody else overwrote is made again.
const ATTEMPTS: usize = 3;

/// A crontab and where its lock and the copy of its last text are kept.
#[derive(Debug, Clone)]
pub(crate) struct Crontab {
    program: PathBuf,
    /// Another user's table, for root.
    user: Option<String>,
    folder: PathBuf,
}

impl Crontab {
    /// The crontab of the user who runs this; `folder` is made when something changes.
    pub(crate) fn of_user(folder: PathBuf) -> Self {
        Self {
            program: PathBuf::from("crontab"),
            user: None,
            folder,
        }
    }

    /// The text; empty where there is no crontab.
    ///
    /// # Errors
    /// No `crontab` program, one that refuses this user, text that isn't UTF-8.
    pub(crate) fn read(&self) -> Result<String, CronError> {
        let output = self.run(&["-l"], None)?;
        if !output.status.success() {
            let said = said(&output);
            if said.contains("no crontab") {
                return Ok(String::new());
            }
            return Err(CronError::new(
                format!("the crontab can't be read: {said}"),
                "try `crontab -l`; /etc/cron.allow and /etc/cron.deny say who may",
            ));
        }
        String::from_utf8(output.stdout).map_err(|_| {
            CronError::new(
                "the crontab is not UTF-8 text",
                "edit it with `crontab -e`; gpurun leaves it alone as it is",
            )
        })
    }

    /// Changes the text by `edit` and makes sure that it is what the table then says. The text before
    /// is kept in the folder.
    ///
    /// # Errors
    /// What reading can end with, what `edit` refuses, a table that cron refuses, and somebody else
    /// who keeps writing at the same time.
    pub(crate) fn update(
        &self,
        edit: impl Fn(&str) -> Result<String, CronError>,
    ) -> Result<(), CronError> {
        let _lock = self.lock()?;
        for _ in 0..ATTEMPTS {
            let before = self.read()?;
            let after = edit(&before)?;
            if after == before {
                return Ok(());
            }
            self.keep(&before)?;
            self.write(&after)?;
            // Whoever doesn't take our lock (`crontab -e`) may have written in between.
            if self.read()? == after {
                return Ok(());
            }
        }
        Err(CronError::new(
            "somebody else is changing the crontab at the same time",
            "leave `crontab -e` and the like, then try again",
        ))
    }

    fn write(&self, text: &str) -> Result<(), CronError> {
        let output = if text.is_empty() {
            // Nothing is left of anybody.
            self.run(&["-r"], None)?
        } else {
            self.run(&["-"], Some(text))?
        };
        if output.status.success() {
            return Ok(());
        }
        Err(CronError::new(
            format!(
                "crontab refused the new table, the old one stays: {}",
                said(&output)
            ),
            "check the other lines with `crontab -e`",
        ))
    }

    fn run(&self, arguments: &[&str], input: Option<&str>) -> Result<Output, CronError> {
        let mut command = Command::new(&self.program);
        if let Some(user) = &self.user {
            command.args(["-u", user]);
        }
        command
            .args(arguments)
            // Its messages are read below.
            .env("LC_ALL", "C")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let run = || -> io::Result<Output> {
            let mut child = command.spawn()?;
            let mut stdin = child.stdin.take();
            if let (Some(pipe), Some(input)) = (&mut stdin, input) {
                // A program that doesn't read to the end says why in its exit status.
                let _closed_pipe = pipe.write_all(input.as_bytes());
            }
            drop(stdin);
            child.wait_with_output()
        };
        run_or_explain(run, &self.program)
    }

    fn lock(&self) -> Result<Flock<File>, CronError> {
        fs::create_dir_all(&self.folder).map_err(|error| folder_error(&self.folder, &error))?;
        let path = self.folder.join("crontab.lock");
        let file = private_file(&path, false).map_err(|error| folder_error(&path, &error))?;
        Flock::lock(file, FlockArg::LockExclusive)
            .map_err(|(_, error)| folder_error(&path, &error.into()))
    }

    fn keep(&self, text: &str) -> Result<(), CronError> {
        let path = self.folder.join("crontab.before");
        private_file(&path, true)
            .and_then(|mut file| file.write_all(text.as_bytes()))
            .map_err(|error| folder_error(&path, &error))
    }
}

fn run_or_explain(
    mut run: impl FnMut() -> io::Result<Output>,
    program: &Path,
) -> Result<Output, CronError> {
    run().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => CronError::new(
            format!("there is no '{}' on this machine", program.display()),
            "install cron, or let any other scheduler run `gpurun reap`",
        ),
        _ => CronError::new(
            format!("'{}' can't be run: {error}", program.display()),
            "check the program and who may run it",
        ),
    })
}

fn private_file(path: &Path, truncate: bool) -> io::Result<File> {
    OpenOptions::new()
        .create(true)
        .write(true)
        .truncate(truncate)
        .mode(0o600)
        .open(path)
}

fn folder_error(path: &Path, error: &io::Error) -> CronError {
    CronError::new(
        format!("{}: {error}", path.display()),
        "make it writable: gpurun keeps its lock and a copy of the crontab there",
    )
}

fn said(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr);
    let text = text.trim();
    if text.is_empty() {
        return output.status.to_string();
    }
    text.replace('\n', "; ")
}

#[cfg(test)]
mod tests;
