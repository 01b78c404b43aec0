//! What its refusals mean; pure.

use crate::error::ErrorKind;
use crate::http::{Refusal, Reply};

/// What an answer refuses; `None` where it doesn't.
pub(super) fn refusal(reply: &Reply) -> Option<Refusal> {
    if reply.is_success() {
        return None;
    }
    let body = reply.value().unwrap_or_default();
    let text = |name: &str| body[name].as_str().unwrap_or_default().to_owned();
    let (code, message) = (text("code"), text("message"));
    let said = if message.is_empty() {
        reply.excerpt()
    } else {
        message
    };
    let refusal = |kind, remedy: &str| Some(Refusal::new(kind, said.clone(), remedy));
    let lower = said.to_lowercase();
    match code.as_str() {
        "unauthorized_request" => refusal(
            ErrorKind::Credentials,
            "Check the key: `gpurun providers` says where it was found.",
        ),
        "insufficient_funds" => refusal(
            ErrorKind::Credit,
            "Add credit at https://console.verda.com.",
        ),
        // A box that ended is refused as if it were ours to ask: it is gone.
        "forbidden_action" if lower.contains("discontinued instance") => {
            refusal(ErrorKind::Gone, "List what is there.")
        }
        "forbidden_action" => refusal(
            ErrorKind::InvalidRequest,
            "Change what is asked for; the same request stays refused.",
        ),
        "not_found" => refusal(ErrorKind::Gone, "List what is there."),
        // How it says that a type is sold out is not known for sure: any of its codes, with one of these words.
        "invalid_request" | "service_unavailable"
            if ["capacity", "not available", "out of stock"]
                .iter()
                .any(|words| lower.contains(words)) =>
        {
            refusal(
                ErrorKind::NoCapacity,
                "Take another type or location, or try later.",
            )
        }
        // A page of somebody in between says nothing about what is there.
        "" if reply.status == 404 => {
            let message = format!("it answered 404: {said}");
            let remedy = "Check the address of the API, and try again.";
            Some(Refusal::new(ErrorKind::Unknown, message, remedy).with_temporary(true))
        }
        _ => Some(Refusal::by_status(reply, said)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(status: u16, code: &str, message: &str) -> ErrorKind {
        let text = serde_json::json!({"code": code, "message": message}).to_string();
        let reply = Reply {
            status,
            text,
            retry_after: None,
        };
        refusal(&reply).expect("a refusal").kind
    }

    #[test]
    fn its_codes_are_our_kinds() {
        use ErrorKind::{Credentials, Credit, Gone, InvalidRequest, NoCapacity};
        let ended = "Can't discontinue a discontinued instance";
        assert_eq!(of(403, "forbidden_action", ended), Gone);
        assert_eq!(of(403, "forbidden_action", "not yours"), InvalidRequest);
        assert_eq!(of(404, "not_found", "Instance not found"), Gone);
        assert_eq!(of(401, "unauthorized_request", "no"), Credentials);
        assert_eq!(of(402, "insufficient_funds", "no"), Credit);
        assert_eq!(of(400, "invalid_request", "no such image"), InvalidRequest);
        let sold_out = "Instance type is not available";
        assert_eq!(of(503, "service_unavailable", sold_out), NoCapacity);
        assert_eq!(
            of(503, "service_unavailable", "try later"),
            ErrorKind::Unavailable
        );
        assert_eq!(of(429, "", "slow down"), ErrorKind::RateLimited);
        let page = Reply {
            status: 404,
            text: "<html>".to_owned(),
            retry_after: None,
        };
        let page = refusal(&page).expect("a refusal");
        assert_eq!((page.kind, page.temporary), (ErrorKind::Unknown, true));
    }
}
