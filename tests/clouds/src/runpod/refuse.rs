//! The bodies of its refusals: RFC 9457.

use serde_json::json;

use crate::Reply;

pub(crate) fn refuse(status: u16, detail: &str) -> Reply {
    with_errors(status, detail, &[])
}

pub(crate) fn with_errors(status: u16, detail: &str, errors: &[String]) -> Reply {
    let title = match status {
        400 => "Bad Request",
        401 => "Unauthorized",
        402 => "Payment Required",
        403 => "Forbidden",
        404 => "Not Found",
        409 => "Conflict",
        422 => "Unprocessable Entity",
        429 => "Too Many Requests",
        _ => "Internal Server Error",
    };
    let mut body = json!({"title": title, "status": status, "detail": detail});
    if !errors.is_empty() {
        body["errors"] = json!(errors);
    }
    Reply::json(status, &body).typed("application/problem+json")
}

/// The body is wrong and stays wrong.
pub(crate) fn invalid(error: impl Into<String>) -> Reply {
    with_errors(422, "Request validation failed.", &[error.into()])
}

pub(crate) fn no_pod() -> Reply {
    refuse(404, "pod not found")
}

/// No machine code tells this from another rule that was broken.
pub(crate) fn no_capacity() -> Reply {
    refuse(400, NO_INSTANCES)
}

pub(crate) const NO_INSTANCES: &str = "There are no longer any instances available with the requested specifications. Please refresh and try again.";

pub(crate) const NO_GPUS: &str =
    "There are not enough free GPUs on the host machine to start this pod.";
