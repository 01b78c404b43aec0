//! What its refusals mean; pure.

use crate::error::ErrorKind;
use crate::http::{Refusal, Reply};

/// What an answer refuses; `None` where it doesn't.
pub(super) fn refusal(reply: &Reply) -> Option<Refusal> {
    let body = reply.value().unwrap_or_default();
    let text = |pointer: &str| {
        let field = body.pointer(pointer).and_then(|field| field.as_str());
        field.unwrap_or_default().to_owned()
    };
    // GraphQL says no with a 200.
    let graphql = text("/errors/0/message");
    if reply.is_success() {
        let refused = body["data"].is_null() && !graphql.is_empty();
        return refused.then(|| by_words(reply, graphql.clone()));
    }
    let errors = body["errors"].as_array().into_iter().flatten();
    let errors: Vec<&str> = errors.filter_map(|error| error.as_str()).collect();
    let detail = [text("/detail"), graphql, reply.excerpt()];
    let detail = detail.into_iter().find(|said| !said.is_empty());
    let said = match (detail.unwrap_or_default(), errors.is_empty()) {
        (detail, true) => detail,
        (detail, false) => format!("{detail} {}", errors.join("; ")),
    };
    let is_theirs = body["status"].is_number();
    Some(match reply.status {
        404 | 410 if !is_theirs => {
            // A page of somebody in between, or of an API that has ended, says nothing about what is there.
            let message = format!("it answered {}: {said}", reply.status);
            let remedy = "Check the address of the API, and try again.";
            Refusal::new(ErrorKind::Unknown, message, remedy).with_temporary(true)
        }
        _ => by_words(reply, said),
    })
}

/// No machine code tells "no capacity" from any other 400.
fn by_words(reply: &Reply, said: String) -> Refusal {
    let heard = |text: &str| said.to_lowercase().contains(text);
    if heard("no longer any instances") || heard("not enough free gpus") || heard("no instances") {
        let remedy = "Take another offer: stock is no reservation.";
        return Refusal::new(ErrorKind::NoCapacity, said, remedy);
    }
    if heard("unauthorized") {
        let remedy = "Check the key: `gpurun providers` says where it was found.";
        return Refusal::new(ErrorKind::Credentials, said, remedy);
    }
    match reply.status {
        402 => Refusal::new(
            ErrorKind::Credit,
            said,
            "Add credit at https://console.runpod.io/user/billing.",
        ),
        403 => Refusal::new(
            ErrorKind::InvalidRequest,
            said,
            "This account may not have it; another offer may do.",
        ),
        200 => Refusal::new(
            ErrorKind::Unknown,
            said,
            "Look at the account in the vendor's console.",
        )
        .with_temporary(true),
        _ => Refusal::by_status(reply, said),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(status: u16, text: &str) -> Option<ErrorKind> {
        let reply = Reply {
            status,
            text: text.to_owned(),
            retry_after: None,
        };
        refusal(&reply).map(|refusal| refusal.kind)
    }

    fn problem(status: u16, detail: &str) -> Option<ErrorKind> {
        of(
            status,
            &format!(r#"{{"title":"t","status":{status},"detail":"{detail}"}}"#),
        )
    }

    #[test]
    fn four_hundred_is_two_things() {
        let gone = "There are no longer any instances available with the requested specifications.";
        assert_eq!(problem(400, gone), Some(ErrorKind::NoCapacity));
        let rule = "network volume and pod are in different data centers";
        assert_eq!(problem(400, rule), Some(ErrorKind::InvalidRequest));
    }

    #[test]
    fn statuses_have_their_kinds() {
        assert_eq!(problem(401, "Unauthorized"), Some(ErrorKind::Credentials));
        assert_eq!(
            problem(402, "Insufficient balance."),
            Some(ErrorKind::Credit)
        );
        assert_eq!(problem(403, "pool"), Some(ErrorKind::InvalidRequest));
        assert_eq!(problem(404, "pod not found"), Some(ErrorKind::Gone));
        assert_eq!(problem(429, "window"), Some(ErrorKind::RateLimited));
        assert_eq!(problem(500, "wrong"), Some(ErrorKind::Unavailable));
        assert_eq!(of(404, "<html>"), Some(ErrorKind::Unknown), "no proof");
        assert_eq!(of(410, "gone"), Some(ErrorKind::Unknown), "an old API");
        assert_eq!(of(204, ""), None);
    }

    #[test]
    fn the_unknown_field_is_named() {
        let body = r#"{"title":"t","status":422,"detail":"Request validation failed.","errors":["$: additional properties 'gpuTypeIds' not allowed"]}"#;
        let reply = Reply {
            status: 422,
            text: body.to_owned(),
            retry_after: None,
        };
        let found = refusal(&reply).expect("a refusal");
        assert!(found.message.contains("gpuTypeIds"), "{found:?}");
        assert!(!found.temporary);
    }

    #[test]
    fn graphql_says_no_with_two_hundred() {
        let no = r#"{"errors":[{"message":"Unauthorized"}],"data":null}"#;
        assert_eq!(of(200, no), Some(ErrorKind::Credentials));
        assert_eq!(of(200, r#"{"data":{"myself":{}}}"#), None);
    }
}
