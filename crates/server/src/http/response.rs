//! An answer that is written as a whole.

use std::fmt::Write;

use serde::Serialize;
use warpsmith_core::Finding;

/// What every answer says to browsers: shared memory needs the first two, and nothing may be
/// loaded from or framed by anybody else.
pub(crate) const SECURITY_HEADERS: &str = "Cross-Origin-Opener-Policy: same-origin\r\n\
    Cross-Origin-Embedder-Policy: require-corp\r\n\
    Cross-Origin-Resource-Policy: same-origin\r\n\
    Content-Security-Policy: default-src 'self'; connect-src 'self' ws: wss:; frame-ancestors 'none'\r\n\
    X-Content-Type-Options: nosniff\r\n\
    Referrer-Policy: no-referrer\r\n";

/// Status, type and body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) kind: &'static str,
    pub(crate) body: Vec<u8>,
}

impl Response {
    pub(crate) fn new(status: u16, kind: &'static str, body: impl Into<Vec<u8>>) -> Self {
        Self {
            status,
            kind,
            body: body.into(),
        }
    }

    pub(crate) fn json(status: u16, value: &impl Serialize) -> Self {
        let mut body = serde_json::to_vec(value).unwrap_or_default();
        body.push(b'\n');
        Self::new(status, "application/json", body)
    }

    pub(crate) fn finding(status: u16, finding: &Finding) -> Self {
        #[derive(Serialize)]
        struct Body<'a> {
            finding: &'a Finding,
        }
        Self::json(status, &Body { finding })
    }

    /// Head and body as they are written; the body is left out for `HEAD`.
    pub(crate) fn encode(&self, keep_alive: bool, head_only: bool) -> Vec<u8> {
        let mut head = String::with_capacity(512);
        let connection = if keep_alive { "keep-alive" } else { "close" };
        // A string takes everything.
        let _ = write!(
            head,
            "HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nCache-Control: no-cache\r\n\
             {SECURITY_HEADERS}Connection: {connection}\r\n",
            self.status,
            reason(self.status),
            self.kind,
            self.body.len()
        );
        if self.status == 401 {
            head.push_str("WWW-Authenticate: Bearer\r\n");
        }
        head.push_str("\r\n");
        let mut bytes = head.into_bytes();
        if !head_only {
            bytes.extend_from_slice(&self.body);
        }
        bytes
    }
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        201 => "Created",
        204 => "No Content",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        409 => "Conflict",
        411 => "Length Required",
        413 => "Content Too Large",
        426 => "Upgrade Required",
        431 => "Request Header Fields Too Large",
        503 => "Service Unavailable",
        _ => "Error",
    }
}
