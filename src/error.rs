//! One failure type for the shell, and the only place where a library's error becomes an exit
//! code and a remedy.

use crate::exit_code::ExitCode;
use miette::Report;

pub(crate) type Result<T, E = Failure> = std::result::Result<T, E>;

/// What a verb ends with when it can't do what was asked.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) exit_code: ExitCode,
    pub(crate) report: Report,
}

impl Failure {
    /// A failure in words: what is wrong, and one thing to do about it.
    pub(crate) fn new(
        exit_code: ExitCode,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> Self {
        let diagnostic = miette::MietteDiagnostic::new(message).with_help(help);
        Self {
            exit_code,
            report: Report::new(diagnostic),
        }
    }

    /// A failure whose error already knows its source, labels and help.
    pub(crate) fn diagnostic(
        exit_code: ExitCode,
        diagnostic: impl miette::Diagnostic + Send + Sync + 'static,
    ) -> Self {
        Self {
            exit_code,
            report: Report::new(diagnostic),
        }
    }
}
