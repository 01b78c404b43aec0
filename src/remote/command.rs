//! A command for a box, what came of it, and why it couldn't be run.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

/// Where this program lies on every box.
pub(super) const GPURUN: &str = "gpurun/bin/gpurun";
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);

/// A command to run on a box, in its home.
#[derive(Clone, Debug)]
pub(crate) struct Command {
    /// A first word with a slash in it is a path; any other is looked up on the box's `PATH`.
    pub(crate) argv: Vec<String>,
    /// Added to the box's own environment.
    pub(crate) environment: BTreeMap<String, String>,
    pub(crate) stdin: Vec<u8>,
    /// The command is ended, with all its children, when it takes longer.
    pub(crate) timeout: Duration,
}

impl Command {
    pub(crate) fn new(argv: &[&str]) -> Self {
        Self {
            argv: argv.iter().map(|word| (*word).to_owned()).collect(),
            environment: BTreeMap::new(),
            stdin: Vec::new(),
            timeout: DEFAULT_TIMEOUT,
        }
    }

    /// `gpurun agent …` on the box.
    pub(crate) fn agent(verb: &[&str]) -> Self {
        Self::new(&[&[GPURUN, "agent"], verb].concat())
    }

    pub(crate) fn timeout(self, timeout: Duration) -> Self {
        Self { timeout, ..self }
    }

    #[cfg(test)]
    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.environment.insert(name.to_owned(), value.to_owned());
        self
    }
}

/// What a command that came to its end left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Output {
    pub(crate) ended: Ended,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
}

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    Code(i32),
    Signal(i32),
}

impl Output {
    pub(crate) fn success(&self) -> bool {
        self.ended == Ended::Code(0)
    }

    /// Why it failed, in one line: what it called an error, else the last thing it said; and its exit code.
    pub(crate) fn why(&self) -> String {
        let (stdout, stderr) = (
            String::from_utf8_lossy(&self.stdout),
            String::from_utf8_lossy(&self.stderr),
        );
        match telling_line(&stderr).or_else(|| telling_line(&stdout)) {
            Some(line) => format!("{line} ({})", self.ended),
            None => self.ended.to_string(),
        }
    }
}

fn telling_line(text: &str) -> Option<&str> {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let is_error = |line: &&str| {
        line.get(..6)
            .is_some_and(|start| start.eq_ignore_ascii_case("error:"))
    };
    lines.clone().rfind(is_error).or_else(|| lines.next_back())
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => write!(f, "exit code {code}"),
            Self::Signal(signal) => write!(f, "signal {signal}"),
        }
    }
}

/// Something that couldn't be done on a box.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}; {remedy}")]
pub(crate) struct RemoteError {
    pub(crate) message: String,
    /// One thing a person can do about it.
    pub(crate) remedy: String,
    /// Trying the same again may help: a lost connection, not a missing file.
    pub(crate) temporary: bool,
    /// Somebody is there, and doesn't know the run's key.
    pub(crate) locked: bool,
}

impl RemoteError {
    pub(crate) fn temporary(message: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            remedy: remedy.into(),
            temporary: true,
            locked: false,
        }
    }

    pub(crate) fn permanent(message: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            remedy: remedy.into(),
            temporary: false,
            locked: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_told_by_its_own_words() {
        let output = |stdout: &str, stderr: &str| Output {
            ended: Ended::Code(3),
            stdout: stdout.into(),
            stderr: stderr.into(),
        };
        assert_eq!(
            output("42%\n", "warning\nno such device\n\n").why(),
            "no such device (exit code 3)"
        );
        assert_eq!(
            output("no such file\n", " \n").why(),
            "no such file (exit code 3)"
        );
        assert_eq!(output("", "").why(), "exit code 3");
        let usage = "error: unrecognized subcommand 'proof'\n\nUsage: gpurun\n\nFor more information, try '--help'.\n";
        assert_eq!(
            output("", usage).why(),
            "error: unrecognized subcommand 'proof' (exit code 3)"
        );
    }
}
