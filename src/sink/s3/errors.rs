//! What a store's refusals mean.

use std::io;

use aws_sdk_s3::error::{ProvideErrorMetadata, SdkError};

use crate::sink::SinkError;

/// Sorts a failed request about `location` by its meaning.
pub(super) fn sorted<E>(location: &str, error: SdkError<E>) -> SinkError
where
    E: ProvideErrorMetadata + std::error::Error + Send + Sync + 'static,
{
    let location = location.to_owned();
    let code = error.code().unwrap_or_default().to_owned();
    let status = error
        .raw_response()
        .map(|response| response.status().as_u16());
    let said = match error.message() {
        Some(message) => format!("{code}: {message}"),
        None if code.is_empty() => innermost(&error),
        None => code.clone(),
    };
    let source = io::Error::other(said);
    match (code.as_str(), status) {
        ("NoSuchKey" | "NotFound", _) => SinkError::Missing { location },
        ("NoSuchBucket", _) => SinkError::Denied { location, source },
        (
            "AccessDenied"
            | "InvalidAccessKeyId"
            | "SignatureDoesNotMatch"
            | "ExpiredToken"
            | "InvalidToken"
            | "AccountProblem"
            | "AllAccessDisabled",
            _,
        )
        | (_, Some(401 | 403)) => SinkError::Denied { location, source },
        ("QuotaExceeded" | "XMinioStorageFull" | "InsufficientStorage", _) | (_, Some(507)) => {
            SinkError::Full { location, source }
        }
        ("", Some(404)) => SinkError::Missing { location },
        _ => SinkError::Io { location, source },
    }
}

/// What lies at the bottom of a failure that no store answered: "Connection refused".
fn innermost(error: &dyn std::error::Error) -> String {
    let (mut said, mut next) = (error.to_string(), error.source());
    while let Some(source) = next {
        said = source.to_string();
        next = source.source();
    }
    said
}
