//! The bodies of its refusals.

use serde_json::json;

use crate::Reply;

pub(crate) fn refuse(status: u16, code: &str, message: &str, suggestion: &str) -> Reply {
    Reply::json(
        status,
        &json!({"error": {"code": code, "message": message, "suggestion": suggestion}}),
    )
}

pub(crate) fn bad_key() -> Reply {
    refuse(
        401,
        "global/invalid-api-key",
        "API key was invalid, expired, or deleted.",
        "Check your API key or create a new one, then try again.",
    )
}

pub(crate) fn internal_error(status: u16) -> Reply {
    refuse(
        status,
        "global/internal-error",
        "An internal error occurred.",
        "Try again later.",
    )
}

pub(crate) fn no_such(message: &str) -> Reply {
    refuse(404, "global/object-does-not-exist", message, "")
}

pub(crate) fn no_capacity() -> Reply {
    refuse(
        400,
        "instance-operations/launch/insufficient-capacity",
        "Not enough capacity to fulfill launch request.",
        "Choose an instance type with more availability, or try again later.",
    )
}

/// One field of the request is wrong.
pub(crate) fn invalid(field: &str, message: &str) -> Reply {
    Reply::json(
        400,
        &json!({
            "error": {"code": "global/invalid-parameters", "message": "Invalid request data.", "suggestion": null},
            "field_errors": {field: {"code": "global/invalid-parameters", "message": message}},
        }),
    )
}
