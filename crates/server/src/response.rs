//! The answers of this server: what each of them says to browsers, JSON, and findings.

use serde::Serialize;
use warpsmith_core::Finding;
use warpsmith_http::{Answer, Bytes};

/// What every answer says to browsers: shared memory needs the first two, and nothing may be
/// loaded from or framed by anybody else.
const SECURITY_HEADERS: [(&str, &str); 6] = [
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-embedder-policy", "require-corp"),
    ("cross-origin-resource-policy", "same-origin"),
    (
        "content-security-policy",
        "default-src 'self'; connect-src 'self' ws: wss:; frame-ancestors 'none'",
    ),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
];

fn secured(answer: Answer) -> Answer {
    let headers = SECURITY_HEADERS.into_iter();
    headers.fold(answer, |answer, (name, value)| answer.with(name, value))
}

/// An answer that is written as a whole.
pub(crate) fn whole(status: u16, kind: &'static str, body: impl Into<Bytes>) -> Answer {
    let answer = secured(Answer::new(status, kind, body).with("cache-control", "no-cache"));
    match status {
        401 => answer.with("www-authenticate", "Bearer"),
        _ => answer,
    }
}

pub(crate) fn json(status: u16, value: &impl Serialize) -> Answer {
    let mut body = serde_json::to_vec(value).unwrap_or_default();
    body.push(b'\n');
    whole(status, "application/json", body)
}

pub(crate) fn finding(status: u16, finding: &Finding) -> Answer {
    #[derive(Serialize)]
    struct Body<'a> {
        finding: &'a Finding,
    }
    json(status, &Body { finding })
}

/// The head of an answer that is written as it comes to be.
pub(crate) fn streamed(kind: &'static str) -> Answer {
    let answer = Answer::empty(200).with("content-type", kind);
    secured(answer.with("cache-control", "no-store"))
}
