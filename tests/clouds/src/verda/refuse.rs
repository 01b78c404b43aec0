//! The bodies of its refusals.

use serde_json::json;

use crate::Reply;

pub(crate) fn refuse(status: u16, code: &str, message: &str) -> Reply {
    Reply::json(status, &json!({"code": code, "message": message}))
}

pub(crate) fn bad_token() -> Reply {
    refuse(
        401,
        "unauthorized_request",
        "Access token is missing or invalid",
    )
}

pub(crate) fn invalid(message: &str) -> Reply {
    refuse(400, "invalid_request", message)
}

pub(crate) fn no_such(what: &str) -> Reply {
    refuse(404, "not_found", &format!("{what} not found"))
}

pub(crate) fn sold_out() -> Reply {
    refuse(
        503,
        "service_unavailable",
        "The instance type is not available in the location",
    )
}

pub(crate) fn server_error(status: u16) -> Reply {
    refuse(status, "server_error", "Internal server error")
}
