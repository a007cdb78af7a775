//! Path and method to an answer.

use std::net::SocketAddr;
use std::sync::Arc;

use serde_json::json;
use tokio::net::TcpStream;
use warpsmith_core::{Finding, Severity};
use warpsmith_http::websocket::accept_key;
use warpsmith_http::{Answer, Application, Refusal, Reply, Request};

use super::{control, music, status};
use crate::event_stream::{follow_events, follow_matrix};
use crate::protocol::SUBPROTOCOL;
use crate::server::Shared;
use crate::{page, response, session};

const EVENT_STREAM: &str = "text/event-stream";

/// The layer's application: what each path answers.
pub(crate) struct Router(pub(crate) Arc<Shared>);

impl Application for Router {
    async fn answer(&self, request: Request, peer: SocketAddr) -> Reply {
        let metrics = &self.0.metrics;
        metrics.requests.add(1);
        let reply = shared_with_origin(respond(&request, peer, &self.0), &request, &self.0);
        if let Reply::Whole(answer) = &reply
            && matches!(answer.status(), 401 | 403 | 503)
        {
            metrics.refused.add(1);
        }
        reply
    }

    fn refuse(&self, refusal: Refusal) -> Answer {
        let message = refusal.to_string();
        if let Refusal::Full(_) = refusal {
            self.0.metrics.refused.add(1);
            let finding = Finding::new("W009", Severity::Error, message);
            return response::finding(refusal.status(), &finding);
        }
        let body =
            json!({ "finding": { "code": "W001", "severity": "error", "message": message } });
        response::json(refusal.status(), &body)
    }
}

/// Writes a head, and gives the socket to `serve`.
pub(super) fn stream<F>(head: Answer, serve: impl FnOnce(TcpStream) -> F + Send + 'static) -> Reply
where
    F: Future<Output = ()> + Send + 'static,
{
    // Requests that came along with this one are left unanswered: the connection is a stream now.
    Reply::Stream(head, Box::new(|socket, _| Box::pin(serve(socket))))
}

/// Lets a page of an allowed origin read the answer.
fn shared_with_origin(reply: Reply, request: &Request, shared: &Shared) -> Reply {
    let Some(origin) = shared.access.granted(request) else {
        return reply;
    };
    let open = |answer: Answer| {
        answer
            .with_computed("access-control-allow-origin", origin)
            .with("vary", "Origin")
            .with("cross-origin-resource-policy", "cross-origin")
    };
    match reply {
        Reply::Whole(answer) => Reply::Whole(open(answer)),
        Reply::Stream(head, handler) => Reply::Stream(open(head), handler),
        upgrade => upgrade,
    }
}

/// Answers a request.
fn respond(request: &Request, peer: SocketAddr, shared: &Arc<Shared>) -> Reply {
    if let Err(finding) = shared.access.check_origin(request) {
        return Reply::Whole(response::finding(403, &finding));
    }
    if request.method() == "OPTIONS" && shared.access.granted(request).is_some() {
        // A browser asks before it sends a page's request elsewhere; the token comes with the request.
        let answer = Answer::empty(204)
            .with("access-control-allow-methods", "GET, HEAD, POST, DELETE")
            .with(
                "access-control-allow-headers",
                "authorization, content-type",
            )
            .with("access-control-max-age", "600");
        return Reply::Whole(answer);
    }
    let reading = matches!(request.method(), "GET" | "HEAD");
    // The page holds no secret, and asks for the token itself; health is for watchers.
    if reading {
        if let Some(file) = page::file(request.path()) {
            return Reply::Whole(response::whole(200, file.kind, file.text));
        }
        if request.path() == "/api/health" {
            return Reply::Whole(status::health(shared));
        }
    }
    if let Err(finding) = shared.access.check_token(request) {
        return Reply::Whole(response::finding(401, &finding));
    }
    Reply::Whole(match (request.method(), request.path()) {
        ("GET", "/ws") => return web_socket(request, peer, shared),
        ("GET", "/stream.wav") => return music::endless(request, shared),
        ("POST", "/api/render") => return music::render(request, shared),
        ("POST", "/api/midi") => music::midi(request, shared),
        ("GET", "/api/events") => {
            let shared = Arc::clone(shared);
            // Before the head is sent: whoever sees it misses nothing from then on.
            let events = shared.events.subscribe();
            return stream(response::streamed(EVENT_STREAM), |socket| {
                follow_events(socket, events, shared)
            });
        }
        ("GET", "/api/matrix") => {
            let shared = Arc::clone(shared);
            return stream(response::streamed(EVENT_STREAM), move |socket| {
                follow_matrix(socket, shared)
            });
        }
        // A page elsewhere can make a browser send a GET: what has an effect is another method.
        ("POST", "/api/matrix") => {
            shared.matrix.begin(request.query("again").is_some());
            response::json(202, &json!({ "follow": "GET /api/matrix" }))
        }
        ("POST", "/api/control") => control::control(request, shared),
        ("POST", "/api/presets") => control::keep_preset(request, shared),
        (method, path) if path.starts_with("/api/presets/") => {
            control::preset(method, &path["/api/presets/".len()..], request, shared)
        }
        ("GET" | "HEAD", path) => match path {
            "/api/status" => status::status(shared),
            "/api/metrics" => status::metrics(shared),
            "/api/presets" => response::json(200, &shared.presets.list()),
            "/api/telemetry" => status::telemetry(shared),
            "/metrics" => status::prometheus(shared),
            _ => missing(404, "there is nothing at this path"),
        },
        _ => missing(405, "this path does not take this method"),
    })
}

/// What is not there, as a finding.
pub(super) fn missing(status: u16, message: &str) -> Answer {
    let finding =
        Finding::new("W011", Severity::Error, message).hint("`GET /api/status` lists the paths");
    response::finding(status, &finding)
}

fn web_socket(request: &Request, peer: SocketAddr, shared: &Arc<Shared>) -> Reply {
    let key = request
        .header("sec-websocket-key")
        .filter(|key| key.len() == 24);
    let wanted = request.has_word("connection", "upgrade")
        && request.has_word("upgrade", "websocket")
        && request.header("sec-websocket-version") == Some("13");
    let (true, Some(key)) = (wanted, key) else {
        return Reply::Whole(missing(426, "this path speaks WebSocket, version 13"));
    };
    // A client that names subprotocols must name ours; curl and the like name none.
    let named = request.header("sec-websocket-protocol").is_some();
    if named && !request.has_word("sec-websocket-protocol", SUBPROTOCOL) {
        return Reply::Whole(missing(426, "the subprotocol here is warpsmith-v1"));
    }
    let mut head = Answer::empty(101)
        .with("upgrade", "websocket")
        .with_computed("sec-websocket-accept", accept_key(key));
    if named {
        head = head.with("sec-websocket-protocol", SUBPROTOCOL);
    }
    let shared = Arc::clone(shared);
    Reply::Upgrade(
        head,
        Box::new(move |socket, bytes| Box::pin(session::run(socket, peer, bytes, shared))),
    )
}
