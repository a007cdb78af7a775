//! Path and method to an answer.

use std::sync::Arc;

use warpsmith_core::{Finding, Severity};

use super::{control, music, status};
use crate::http::{Request, Response};
use crate::page;
use crate::protocol::SUBPROTOCOL;
use crate::server::Shared;
use crate::wav::WavFile;
use crate::websocket::accept_key;

/// What a connection does next.
pub(crate) enum Reply {
    /// Writes this.
    Whole(Response),
    /// Writes this, and speaks WebSocket from then on.
    WebSocket { head: String },
    /// Sends sound.
    Wav(Box<WavFile>),
    /// Sends what happens.
    Events,
    /// Sends the matrix as it is measured.
    Matrix { again: bool },
}

impl From<Response> for Reply {
    fn from(response: Response) -> Self {
        Self::Whole(response)
    }
}

/// Answers a request.
pub(crate) fn respond(request: &Request, shared: &Arc<Shared>) -> Reply {
    if let Err(finding) = shared.access.check_origin(request) {
        return Response::finding(403, &finding).into();
    }
    let reading = matches!(request.method.as_str(), "GET" | "HEAD");
    // The page holds no secret, and asks for the token itself; health is for watchers.
    if reading {
        if let Some(file) = page::file(&request.path) {
            return Response::new(200, file.kind, file.text).into();
        }
        if request.path == "/api/health" {
            return status::health(shared).into();
        }
    }
    if let Err(finding) = shared.access.check_token(request) {
        return Response::finding(401, &finding).into();
    }
    match (request.method.as_str(), request.path.as_str()) {
        ("GET", "/ws") => web_socket(request),
        ("GET", "/stream.wav") => music::endless(request, shared),
        ("POST", "/api/render") => music::render(request, shared),
        ("POST", "/api/control") => control::control(request, shared).into(),
        ("GET", "/api/events") => Reply::Events,
        ("GET", "/api/matrix") => Reply::Matrix {
            again: request.query("again").is_some(),
        },
        ("POST", "/api/presets") => control::keep_preset(request, shared).into(),
        (method, path) if path.starts_with("/api/presets/") => {
            control::preset(method, &path["/api/presets/".len()..], request, shared).into()
        }
        ("GET" | "HEAD", path) => match path {
            "/api/status" => status::status(shared).into(),
            "/api/metrics" => status::metrics(shared).into(),
            "/api/presets" => Response::json(200, &shared.presets.list()).into(),
            "/api/telemetry" => status::telemetry(shared).into(),
            "/metrics" => status::prometheus(shared).into(),
            _ => missing(404, "there is nothing at this path").into(),
        },
        _ => missing(405, "this path does not take this method").into(),
    }
}

/// What is not there, as a finding.
pub(super) fn missing(status: u16, message: &str) -> Response {
    let finding =
        Finding::new("W011", Severity::Error, message).hint("`GET /api/status` lists the paths");
    Response::finding(status, &finding)
}

fn web_socket(request: &Request) -> Reply {
    let key = request
        .header("sec-websocket-key")
        .filter(|key| key.len() == 24);
    let wanted = request.has_word("connection", "upgrade")
        && request.has_word("upgrade", "websocket")
        && request.header("sec-websocket-version") == Some("13");
    let (true, Some(key)) = (wanted, key) else {
        return missing(426, "this path speaks WebSocket, version 13").into();
    };
    // A client that names subprotocols must name ours; curl and the like name none.
    let named = request.header("sec-websocket-protocol").is_some();
    if named && !request.has_word("sec-websocket-protocol", SUBPROTOCOL) {
        return missing(426, "the subprotocol here is warpsmith-v1").into();
    }
    let protocol = match named {
        true => format!("Sec-WebSocket-Protocol: {SUBPROTOCOL}\r\n"),
        false => String::new(),
    };
    let accept = accept_key(key);
    Reply::WebSocket {
        head: format!(
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
             Sec-WebSocket-Accept: {accept}\r\n{protocol}\r\n"
        ),
    }
}
