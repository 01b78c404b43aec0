//! The bodies of its refusals.

use serde_json::{Value, json};

use crate::Reply;

pub(crate) fn refuse(status: u16, error: &str, message: &str) -> Reply {
    Reply::json(
        status,
        &json!({"success": false, "error": error, "msg": message}),
    )
}

/// An unknown key is 401 on some routes and 404 on the others.
pub(crate) fn bad_key(status: u16) -> Reply {
    refuse(status, "auth_error", "Invalid user key")
}

pub(crate) fn no_key() -> Reply {
    refuse(403, "auth_error", "This action requires login.")
}

pub(crate) fn forbidden() -> Reply {
    refuse(403, "forbidden", "This key may not do that.")
}

pub(crate) fn no_route(path: &str) -> Reply {
    refuse(404, "not_found", &format!("no route {path}"))
}

pub(crate) fn no_instance() -> Reply {
    refuse(404, "not_found", "Instance not found")
}

pub(crate) fn unknown_ask(ask: &str) -> Reply {
    let message =
        format!("error 404/3603: no_such_ask Instance type by id {ask} is not available.");
    of_ask(404, "invalid_args", &message, ask)
}

pub(crate) fn ask_gone(ask: &str) -> Reply {
    let message =
        format!("error 410/3907: no_such_ask Instance type {ask} is no longer available.");
    of_ask(410, "no_such_ask", &message, ask)
}

pub(crate) fn invalid_arguments(ask: &str, what: &str) -> Reply {
    let message = format!("error 400/3467: Invalid args: {what}");
    of_ask(400, "invalid_args", &message, ask)
}

pub(crate) fn of_ask(status: u16, error: &str, message: &str, ask: &str) -> Reply {
    let ask: Value = ask.parse::<u64>().map_or(Value::Null, Value::from);
    Reply::json(
        status,
        &json!({"success": false, "error": error, "msg": message, "ask_id": ask}),
    )
}
