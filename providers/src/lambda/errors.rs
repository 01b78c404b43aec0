//! What its refusals mean; pure.

use crate::error::ErrorKind;
use crate::http::{Refusal, Reply};

/// What an answer refuses; `None` where it doesn't.
pub(super) fn refusal(reply: &Reply) -> Option<Refusal> {
    if reply.is_success() {
        return None;
    }
    let body = reply.value().unwrap_or_default();
    let text = |pointer: &str| {
        let field = body.pointer(pointer).and_then(|field| field.as_str());
        field.unwrap_or_default().to_owned()
    };
    let (code, message) = (text("/error/code"), text("/error/message"));
    let suggestion = text("/error/suggestion");
    // Which field is wrong stands beside the error, not in it.
    let fields = body["field_errors"].as_object().into_iter().flatten();
    let fields: Vec<String> = fields
        .map(|(name, error)| {
            let why = error["message"].as_str().unwrap_or_default();
            format!("{name} {why}").trim().to_owned()
        })
        .collect();
    let said = match (message.is_empty(), fields.is_empty()) {
        (true, _) => reply.excerpt(),
        (false, true) => message,
        (false, false) => format!("{message} {}", fields.join("; ")),
    };
    let remedy = |ours: &str| match suggestion.as_str() {
        "" => ours.to_owned(),
        theirs => theirs.to_owned(),
    };
    let refusal = |kind, ours: &str| Some(Refusal::new(kind, said.clone(), remedy(ours)));
    match code.as_str() {
        "instance-operations/launch/insufficient-capacity" => refusal(
            ErrorKind::NoCapacity,
            "Take another type or region, or try later.",
        ),
        "global/invalid-api-key" => refusal(
            ErrorKind::Credentials,
            "Check the key: `gpurun providers` says where it was found.",
        ),
        "global/account-inactive" => refusal(
            ErrorKind::Credit,
            "Look at the account's billing at https://cloud.lambda.ai.",
        ),
        "global/quota-exceeded" => refusal(
            ErrorKind::Credit,
            "Ask the vendor to raise the account's quota.",
        ),
        "global/object-does-not-exist" => refusal(ErrorKind::Gone, "List what is there."),
        // It may be ending already: only looking tells.
        "global/unknown" => {
            let unknown = refusal(ErrorKind::Unknown, "Look at it, then try again.");
            unknown.map(|refusal| refusal.with_temporary(true))
        }
        // A page of somebody in between says nothing about what is there.
        "" if reply.status == 404 => {
            let message = format!("it answered 404: {said}");
            let remedy = "Check the address of the API, and try again.";
            Some(Refusal::new(ErrorKind::Unknown, message, remedy).with_temporary(true))
        }
        _ => {
            let by_status = Refusal::by_status(reply, said.clone());
            let remedy = remedy(&by_status.remedy);
            Some(Refusal {
                remedy,
                ..by_status
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(status: u16, text: &str) -> Refusal {
        let reply = Reply {
            status,
            text: text.to_owned(),
            retry_after: None,
        };
        refusal(&reply).expect("a refusal")
    }

    fn coded(status: u16, code: &str) -> ErrorKind {
        of(
            status,
            &format!(r#"{{"error":{{"code":"{code}","message":"m","suggestion":null}}}}"#),
        )
        .kind
    }

    #[test]
    fn its_codes_are_our_kinds() {
        let capacity = "instance-operations/launch/insufficient-capacity";
        assert_eq!(coded(400, capacity), ErrorKind::NoCapacity);
        assert_eq!(coded(401, "global/invalid-api-key"), ErrorKind::Credentials);
        assert_eq!(coded(403, "global/account-inactive"), ErrorKind::Credit);
        assert_eq!(coded(400, "global/quota-exceeded"), ErrorKind::Credit);
        assert_eq!(coded(404, "global/object-does-not-exist"), ErrorKind::Gone);
        assert_eq!(coded(400, "global/duplicate"), ErrorKind::InvalidRequest);
        assert_eq!(coded(400, "global/unknown"), ErrorKind::Unknown);
        assert_eq!(coded(429, "global/rate-limit"), ErrorKind::RateLimited);
        assert_eq!(of(429, "Too Many Requests").kind, ErrorKind::RateLimited);
        assert_eq!(of(500, "<html>").kind, ErrorKind::Unavailable);
        let page = of(404, "<html>not here</html>");
        assert_eq!((page.kind, page.temporary), (ErrorKind::Unknown, true));
    }

    #[test]
    fn the_wrong_field_is_named() {
        let body = r#"{"error":{"code":"global/invalid-parameters","message":"Invalid request data.","suggestion":null},
            "field_errors":{"ssh_key_names":{"code":"c","message":"must name exactly one SSH key"}}}"#;
        let found = of(400, body);
        assert_eq!(found.kind, ErrorKind::InvalidRequest);
        assert!(
            found
                .message
                .contains("ssh_key_names must name exactly one")
        );
    }
}
