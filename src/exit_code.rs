//! The exit codes: an API, documented in `docs/exit-codes.md` (a test compares the two).

/// What the process tells its caller, one meaning per number: [`ExitCode::meaning`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExitCode {
    Success,
    Failure,
    Usage,
    Data,
    NotFound,
    Provider,
    Box,
    Training,
    Attention,
    Ledger,
    Declined,
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

    /// What it says, for `docs/exit-codes.md`.
    #[must_use]
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Success => "done; for `reap`: nothing needs a person",
            Self::Failure => {
                "something failed that no other code names; for `doctor`: there are errors in the data set"
            }
            Self::Usage => {
                "the command line, the job file or the configuration is wrong; nothing was done"
            }
            Self::Data => {
                "the data check refused the data set, and nothing was rented; for `doctor`: it is none that can be checked"
            }
            Self::NotFound => "no such run, or the prefix names several",
            Self::Provider => {
                "a provider refused or could not be reached: credentials, credit, capacity, network"
            }
            Self::Box => "the box could not be installed, proved, staged or reached",
            Self::Training => "the training ended as failed, killed or stalled",
            Self::Attention => {
                "something needs a person, and `reap` and `orphans` say what; or `stop` or `destroy` wasn't done in time and stays wanted"
            }
            Self::Ledger => {
                "the ledger could not be read or written, or another gpurun holds the run"
            }
            Self::Declined => "the question before spending or destroying was answered with no",
            Self::Interrupted => "ended by Ctrl-C; what runs on the box goes on",
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
