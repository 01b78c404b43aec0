//! What its refusals mean; pure.

use std::time::Duration;

use serde_json::Value;

use crate::error::ErrorKind;
use crate::http::{Refusal, Reply};

/// What an answer refuses; `None` where it doesn't. A create that failed and left a contract isn't told here: whoever asked
/// for it must see the contract.
pub(super) fn refusal(reply: &Reply) -> Option<Refusal> {
    let body = reply.value();
    let body = body.as_ref();
    if reply.is_success() && !says_no(body) {
        return None;
    }
    let (error, said) = words(reply, body);
    let heard = |text: &str| error.contains(text) || said.contains(text);
    // A wrong or expired key is 401, 403, or 404 like something that is gone.
    if heard("auth_error") || heard("Invalid user key") || heard("requires login") {
        let remedy = "Check the key: `gpurun providers` says where it was found.";
        return Some(Refusal::new(ErrorKind::Credentials, said, remedy));
    }
    if heard("no_such_ask") {
        let remedy = "Search again: somebody else was faster.";
        return Some(Refusal::new(ErrorKind::NoCapacity, said, remedy));
    }
    if heard("search_quota_exceeded") {
        let remedy = "The day's searches are used up; rent by offer id, or search tomorrow.";
        let refusal = Refusal::new(ErrorKind::RateLimited, said, remedy);
        return Some(refusal.with_temporary(false));
    }
    if heard("spend_rate_limit") {
        let remedy = "New accounts may only spend so much an hour: ask the vendor to raise it, or stop another box.";
        return Some(Refusal::new(ErrorKind::Credit, said, remedy));
    }
    if heard("insufficient_credit") || heard("lacks credit") || reply.status == 402 {
        let remedy = "Add credit at https://cloud.vast.ai/billing/.";
        return Some(Refusal::new(ErrorKind::Credit, said, remedy));
    }
    if reply.status == 403 {
        let remedy = "This account may not do that; another offer may do.";
        return Some(Refusal::new(ErrorKind::InvalidRequest, said, remedy));
    }
    if reply.is_success() {
        // Not done, and no reason that we know: nothing is proven by it.
        let message = format!("it says that it wasn't done: {said}");
        let remedy = "Look at the instance in the vendor's console, and try again.";
        return Some(Refusal::new(ErrorKind::Unknown, message, remedy).with_temporary(true));
    }
    let refusal = Refusal::by_status(reply, said);
    Some(match refusal.kind {
        ErrorKind::RateLimited => refusal.with_pause(threshold(&reply.text)),
        _ => refusal,
    })
}

fn says_no(body: Option<&Value>) -> bool {
    body.is_some_and(|body| body["success"] == false && body["new_contract"].is_null())
}

/// Its error code, and what it says in words.
fn words(reply: &Reply, body: Option<&Value>) -> (String, String) {
    let text = |name: &str| {
        let field = body.and_then(|body| body.get(name)?.as_str());
        field.unwrap_or_default().to_owned()
    };
    let said = [text("msg"), text("detail"), text("error"), reply.excerpt()];
    let said = said.into_iter().find(|said| !said.is_empty());
    (text("error"), said.unwrap_or_default())
}

/// `API requests too frequent endpoint threshold=4.5`, as text or inside JSON.
fn threshold(text: &str) -> Option<Duration> {
    let rest = text.split("threshold=").nth(1)?;
    let end = rest.find(|character: char| !character.is_ascii_digit() && character != '.');
    let seconds = rest[..end.unwrap_or(rest.len())].parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(status: u16, text: &str) -> Option<(ErrorKind, bool)> {
        let reply = Reply {
            status,
            text: text.to_owned(),
            retry_after: None,
        };
        refusal(&reply).map(|refusal| (refusal.kind, refusal.temporary))
    }

    #[test]
    fn a_wrong_key_is_never_something_gone() {
        let body = r#"{"success":false,"error":"auth_error","msg":"Invalid user key"}"#;
        for status in [401, 403, 404] {
            assert_eq!(of(status, body), Some((ErrorKind::Credentials, false)));
        }
        let gone = r#"{"success":false,"error":"not_found","msg":"Instance not found"}"#;
        assert_eq!(of(404, gone), Some((ErrorKind::Gone, false)));
    }

    #[test]
    fn an_offer_that_is_gone_has_many_forms() {
        let unknown = r#"{"success":false,"error":"invalid_args","msg":"error 404/3603: no_such_ask Instance type by id 3 is not available.","ask_id":3}"#;
        let taken = r#"{"success":false,"error":"no_such_ask","msg":"error 410/3907: no longer available.","ask_id":3}"#;
        assert_eq!(of(404, unknown), Some((ErrorKind::NoCapacity, true)));
        assert_eq!(of(410, taken), Some((ErrorKind::NoCapacity, true)));
    }

    #[test]
    fn too_many_requests_have_many_forms_and_one_threshold() {
        let text = "API requests too frequent endpoint threshold=4.5";
        for body in [text.to_owned(), format!(r#"{{"detail":"{text}"}}"#)] {
            let reply = Reply {
                status: 429,
                text: body,
                retry_after: None,
            };
            let found = refusal(&reply).expect("a refusal");
            assert_eq!(
                (found.kind, found.pause),
                (ErrorKind::RateLimited, Some(Duration::from_millis(4500)))
            );
        }
        let quota = r#"{"success":false,"error":"search_quota_exceeded","msg":"..."}"#;
        assert_eq!(of(429, quota), Some((ErrorKind::RateLimited, false)));
    }

    #[test]
    fn two_hundred_can_be_a_no() {
        let no = r#"{"success":false,"error":"busy","msg":"try again"}"#;
        assert_eq!(of(200, no), Some((ErrorKind::Unknown, true)));
        assert_eq!(of(200, r#"{"success":true}"#), None);
        assert_eq!(of(200, "<html>"), None, "told by who reads it");
        let left = r#"{"success":false,"error":"bid","msg":"bid too low","new_contract":7}"#;
        assert_eq!(of(200, left), None);
        assert_eq!(of(502, "<html>"), Some((ErrorKind::Unavailable, true)));
    }
}
