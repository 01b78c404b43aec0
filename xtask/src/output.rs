//! The only place of xtask that prints.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a developer's tool talks to its terminal"
)]

use std::fmt::Display;

/// One line of progress or result.
pub(crate) fn say(line: impl Display) {
    println!("{line}");
}

/// The reason why a command failed.
pub(crate) fn complain(error: &impl Display) {
    eprintln!("error: {error}");
}
