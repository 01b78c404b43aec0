//! What can go wrong at a provider, in the words every caller decides by.

use std::fmt;

/// The result of every provider call.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A failed provider call: what kind, whether waiting can help, where, why, and what to do about it.
///
/// A failed read proves nothing: only `describe` answering `None` says that a box is gone. A failed `rent` may still have
/// made a box where [`ErrorKind::may_have_acted`]: look for the label before trying again.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{provider}: {operation} failed ({kind}): {message}")]
pub struct Error {
    pub kind: ErrorKind,
    /// The same call may succeed later without anybody changing anything.
    pub temporary: bool,
    pub provider: &'static str,
    pub operation: Operation,
    /// What happened, in one sentence, without a secret in it.
    pub message: String,
    /// What a person can do, in one sentence.
    pub remedy: String,
}

/// The kinds of failure a caller treats differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// The offer is gone, or the host has no free GPU: another offer may do.
    NoCapacity,
    /// The key is missing, wrong, or expired. Says nothing about any box.
    Credentials,
    /// The account has no money left, or its own limit is reached.
    Credit,
    /// The request itself is wrong, and stays wrong.
    InvalidRequest,
    /// The box named does not exist any more.
    Gone,
    /// Asked too often.
    RateLimited,
    /// No answer, or the provider says it is its own fault.
    Unavailable,
    /// An answer that fits nothing above.
    Unknown,
}

/// The call that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operation {
    RateCard,
    Search,
    Rent,
    Describe,
    List,
    Start,
    Stop,
    Destroy,
    Account,
    Volumes,
}

impl ErrorKind {
    /// Whether the call may have done its work all the same: then only looking tells.
    pub fn may_have_acted(self) -> bool {
        matches!(self, Self::Unavailable | Self::Unknown)
    }

    /// Whether the kind usually passes by itself.
    pub fn usually_temporary(self) -> bool {
        matches!(
            self,
            Self::NoCapacity | Self::RateLimited | Self::Unavailable
        )
    }
}

impl Error {
    /// An error that is temporary if its kind usually is.
    pub fn new(
        provider: &'static str,
        operation: Operation,
        kind: ErrorKind,
        message: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self {
            kind,
            temporary: kind.usually_temporary(),
            provider,
            operation,
            message: message.into(),
            remedy: remedy.into(),
        }
    }

    /// The same error, with another word on whether waiting can help.
    pub fn with_temporary(self, temporary: bool) -> Self {
        Self { temporary, ..self }
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoCapacity => "no capacity",
            Self::Credentials => "credentials",
            Self::Credit => "credit",
            Self::InvalidRequest => "invalid request",
            Self::Gone => "gone",
            Self::RateLimited => "rate limited",
            Self::Unavailable => "unavailable",
            Self::Unknown => "unknown",
        })
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::RateCard => "rate card",
            Self::Search => "search",
            Self::Rent => "rent",
            Self::Describe => "describe",
            Self::List => "list",
            Self::Start => "start",
            Self::Stop => "stop",
            Self::Destroy => "destroy",
            Self::Account => "account",
            Self::Volumes => "volumes",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_where_what_and_why() {
        let error = Error::new(
            "local",
            Operation::Rent,
            ErrorKind::NoCapacity,
            "both GPUs are rented",
            "Stop a box.",
        );
        assert_eq!(
            error.to_string(),
            "local: rent failed (no capacity): both GPUs are rented"
        );
        assert!(error.temporary);
        assert!(!error.with_temporary(false).temporary);
    }
}
