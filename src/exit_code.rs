//! The exit codes: an API, documented in `docs/exit-codes.md` (a test compares the two).

/// What the process tells its caller, one meaning per number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExitCode {
    /// Done; for `reap`: nothing needs a person.
    Success,
    /// Something failed that no other code names.
    Failure,
    /// The command line, the job file or the configuration is wrong; nothing was done.
    Usage,
    /// The data check refused the data set; nothing was rented.
    Data,
    /// No such run, or the prefix names several.
    NotFound,
    /// A provider refused or could not be reached (credentials, credit, capacity, network).
    Provider,
    /// The box could not be installed, proved, staged or reached.
    Box,
    /// The training ended as failed, killed or stalled.
    Training,
    /// Something needs a person: `reap` and `orphans` say what.
    Attention,
    /// The ledger could not be read or written, or another gpurun holds the run.
    Ledger,
    /// The question before spending or destroying was answered with no.
    Declined,
    /// Ended by Ctrl-C; what runs on the box goes on.
    Interrupted,
}

impl ExitCode {
    /// Every code, for the documentation.
    pub const ALL: [Self; 12] = [
        Self::Success,
        Self::Failure,
        Self::Usage,
        Self::Data,
        Self::NotFound,
        Self::Provider,
        Self::Box,
        Self::Training,
        Self::Attention,
        Self::Ledger,
        Self::Declined,
        Self::Interrupted,
    ];

    /// The number the process exits with.
    #[must_use]
    pub const fn number(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::Failure => 1,
            Self::Usage => 2,
            Self::Data => 3,
            Self::NotFound => 4,
            Self::Provider => 5,
            Self::Box => 6,
            Self::Training => 7,
            Self::Attention => 8,
            Self::Ledger => 9,
            Self::Declined => 10,
            Self::Interrupted => 130,
        }
    }

    /// The name used in `--json` error documents.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Failure => "failure",
            Self::Usage => "usage",
            Self::Data => "data",
            Self::NotFound => "not_found",
            Self::Provider => "provider",
            Self::Box => "box",
            Self::Training => "training",
            Self::Attention => "attention",
            Self::Ledger => "ledger",
            Self::Declined => "declined",
            Self::Interrupted => "interrupted",
        }
    }
}

impl From<ExitCode> for std::process::ExitCode {
    fn from(code: ExitCode) -> Self {
        Self::from(code.number())
    }
}
