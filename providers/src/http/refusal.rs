//! What a vendor's answer means when it isn't what was asked for.

use std::time::Duration;

use super::reply::Reply;
use crate::error::ErrorKind;

/// An answer that is a refusal, in the words every caller decides by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) kind: ErrorKind,
    pub(crate) temporary: bool,
    /// One sentence.
    pub(crate) message: String,
    /// What a person can do, in one sentence.
    pub(crate) remedy: String,
    /// When to come back, where the vendor says it in its own way; a header's word is read anyway.
    pub(crate) pause: Option<Duration>,
}

impl Refusal {
    pub(crate) fn new(
        kind: ErrorKind,
        message: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self {
            kind,
            temporary: kind.usually_temporary(),
            message: message.into(),
            remedy: remedy.into(),
            pause: None,
        }
    }

    /// The same, with another word on whether waiting can help.
    pub(crate) fn with_temporary(self, temporary: bool) -> Self {
        Self { temporary, ..self }
    }

    pub(crate) fn with_pause(self, pause: Option<Duration>) -> Self {
        Self { pause, ..self }
    }

    /// By the status alone, for what a vendor's own words don't tell; `said` is what it said.
    pub(crate) fn by_status(reply: &Reply, said: impl Into<String>) -> Self {
        let (kind, remedy) = match reply.status {
            401 | 403 => (
                ErrorKind::Credentials,
                "Check the key: `gpurun providers` says where it was found.",
            ),
            402 => (ErrorKind::Credit, "Add credit to the account."),
            404 | 410 => (ErrorKind::Gone, "List what is there: `gpurun orphans`."),
            429 => (ErrorKind::RateLimited, "Wait a minute, and ask less often."),
            400 | 405..=409 | 411..=428 | 430..=499 => (
                ErrorKind::InvalidRequest,
                "Change what is asked for; the same request stays refused.",
            ),
            500..=599 => (
                ErrorKind::Unavailable,
                "Try again later; the provider has a problem of its own.",
            ),
            _ => (
                ErrorKind::Unknown,
                "Look at the provider's own console before trying again.",
            ),
        };
        let said: String = said.into();
        let message = match said.is_empty() {
            true => format!("it answered {} without a word", reply.status),
            false => format!("it answered {}: {said}", reply.status),
        };
        Self::new(kind, message, remedy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_status_has_a_meaning() {
        let refusal = |status| {
            let reply = Reply {
                status,
                text: String::new(),
                retry_after: None,
            };
            Refusal::by_status(&reply, "no")
        };
        assert_eq!(refusal(401).kind, ErrorKind::Credentials);
        assert_eq!(refusal(410).kind, ErrorKind::Gone);
        assert_eq!(refusal(422).kind, ErrorKind::InvalidRequest);
        assert!(refusal(429).temporary && !refusal(402).temporary);
        assert_eq!(refusal(503).kind, ErrorKind::Unavailable);
        assert_eq!(refusal(308).kind, ErrorKind::Unknown, "nothing is followed");
        assert_eq!(refusal(500).message, "it answered 500: no");
    }
}
