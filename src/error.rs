//! One failure type for the shell, and the only place where a library's error becomes an exit
//! code and a remedy.

use crate::cron::CronError;
use crate::document::{DocumentError, harmless};
use crate::exit_code::ExitCode;
use crate::remote::RemoteError;
use crate::stage::StageError;
use crate::store::{LockError, StoreError};
use miette::Report;

pub(crate) type Result<T, E = Failure> = std::result::Result<T, E>;

/// What a verb ends with when it can't do what was asked.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) exit_code: ExitCode,
    pub(crate) report: Report,
}

impl From<DocumentError> for Failure {
    fn from(error: DocumentError) -> Self {
        Self::diagnostic(ExitCode::Usage, error)
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        let exit_code = match &error {
            StoreError::UnknownRun { .. } | StoreError::Ambiguous { .. } => ExitCode::NotFound,
            StoreError::NameInUse { .. } => ExitCode::Usage,
            _ => ExitCode::Ledger,
        };
        Self::new(exit_code, error.to_string(), error.remedy())
    }
}

impl From<LockError> for Failure {
    fn from(error: LockError) -> Self {
        match error {
            LockError::Held(holder) => Self::new(
                ExitCode::Ledger,
                format!("another gpurun ({holder}) is at work on this run"),
                "wait for it to end: what is wanted is in the ledger",
            ),
            LockError::Unusable(error) => error.into(),
        }
    }
}

impl From<gpurun_providers::Error> for Failure {
    fn from(error: gpurun_providers::Error) -> Self {
        Self::new(ExitCode::Provider, error.to_string(), error.remedy)
    }
}

impl From<RemoteError> for Failure {
    fn from(error: RemoteError) -> Self {
        Self::new(ExitCode::Box, error.message, error.remedy)
    }
}

impl From<CronError> for Failure {
    fn from(error: CronError) -> Self {
        Self::diagnostic(ExitCode::Failure, error)
    }
}

impl From<StageError> for Failure {
    fn from(error: StageError) -> Self {
        Self::new(ExitCode::Data, error.message, error.help)
    }
}

impl Failure {
    /// A failure in words: what is wrong, and one thing to do about it.
    pub(crate) fn new(
        exit_code: ExitCode,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> Self {
        let message = harmless(&message.into()).into_owned();
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
