//! A connection from its first byte: requests one after another, until one of them takes it over.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

use crate::access::Door;
use crate::api::{self, Reply};
use crate::http::{Refused, Request, Response};
use crate::server::Shared;
use crate::{session, wav};

/// How long a client may take for a request, or say nothing between two.
const PATIENCE: Duration = Duration::from_secs(20);

/// Takes connections until the server stops.
pub(crate) async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    let mut stopping = shared.stopping.clone();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = stopping.wait_for(|stopping| *stopping) => return,
        };
        let Ok((socket, peer)) = accepted else {
            // Out of file descriptors, most likely: some connection will end.
            tokio::time::sleep(Duration::from_millis(10)).await;
            continue;
        };
        // Without it small frames would wait for the answer to the one before.
        let _ = socket.set_nodelay(true);
        match shared.doors.enter(peer.ip(), &shared.limits) {
            Ok(door) => {
                tokio::spawn(serve(socket, peer, Arc::clone(&shared), door));
            }
            Err(finding) => {
                shared.metrics.refused.add(1);
                let response = Response::finding(503, &finding).encode(false, false);
                // It fits into the socket's empty buffer, or is not worth waiting for.
                let _ = socket.try_write(&response);
            }
        }
    }
}

/// One connection.
async fn serve(mut socket: TcpStream, peer: SocketAddr, shared: Arc<Shared>, door: Door) {
    let mut stopping = shared.stopping.clone();
    let mut bytes = Vec::new();
    loop {
        let read = tokio::select! {
            read = timeout(PATIENCE, read_request(&mut socket, &mut bytes)) => read,
            _ = stopping.wait_for(|stopping| *stopping) => return,
        };
        let request = match read {
            Ok(Ok(Some(Ok(request)))) => request,
            Ok(Ok(Some(Err(refused)))) => {
                let body = json!({ "finding": { "code": "W001", "severity": "error", "message": refused.why } });
                let response = Response::json(refused.status, &body);
                let _ = write(&mut socket, &response.encode(false, false)).await;
                return;
            }
            // The end, a broken connection, or silence.
            _ => return,
        };
        shared.metrics.requests.add(1);
        let keep_alive = request.keep_alive;
        match api::respond(&request, &shared) {
            Reply::Whole(response) => {
                if matches!(response.status, 401 | 403 | 503) {
                    shared.metrics.refused.add(1);
                }
                let answer = response.encode(keep_alive, request.method == "HEAD");
                if write(&mut socket, &answer).await.is_err() || !keep_alive {
                    return;
                }
            }
            Reply::WebSocket { head } => {
                if write(&mut socket, head.as_bytes()).await.is_ok() {
                    // Boxed, so that connections that never get here stay small.
                    Box::pin(session::run(socket, peer, bytes, shared)).await;
                }
                drop(door);
                return;
            }
            Reply::Wav(file) => {
                // A listener who has heard enough just goes.
                let _ = Box::pin(wav::send(socket, *file)).await;
                return;
            }
            Reply::Events => return follow_events(socket, &shared).await,
            Reply::Matrix { again } => return follow_matrix(socket, &shared, again).await,
        }
    }
}

/// The next request with its body; `None` at the end of the connection.
async fn read_request(
    socket: &mut TcpStream,
    bytes: &mut Vec<u8>,
) -> io::Result<Option<Result<Request, Refused>>> {
    loop {
        match Request::parse(bytes) {
            Err(refused) => return Ok(Some(Err(refused))),
            Ok(Some((mut request, length))) if bytes.len() >= length + request.body_bytes => {
                let end = length + request.body_bytes;
                request.body = bytes[length..end].to_vec();
                bytes.drain(..end);
                return Ok(Some(Ok(request)));
            }
            Ok(_) => {}
        }
        if socket.read_buf(bytes).await? == 0 {
            return Ok(None);
        }
    }
}

/// Writes, or gives up on a client that does not take it.
pub(crate) async fn write(socket: &mut TcpStream, bytes: &[u8]) -> io::Result<()> {
    match timeout(PATIENCE, socket.write_all(bytes)).await {
        Ok(written) => written,
        Err(_) => Err(io::ErrorKind::TimedOut.into()),
    }
}

const EVENT_STREAM: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\
    Cache-Control: no-store\r\nConnection: close\r\n";

fn event_stream_head() -> String {
    format!("{EVENT_STREAM}{}\r\n", crate::http::SECURITY_HEADERS)
}

/// Server-sent events: everything that happens.
async fn follow_events(mut socket: TcpStream, shared: &Shared) {
    let mut events = shared.events.subscribe();
    let mut stopping = shared.stopping.clone();
    if write(&mut socket, event_stream_head().as_bytes())
        .await
        .is_err()
    {
        return;
    }
    loop {
        let line = tokio::select! {
            event = events.recv() => match event {
                Ok(line) => format!("data: {line}\n\n"),
                Err(tokio::sync::broadcast::error::RecvError::Lagged(missed)) => format!(": {missed} missed\n\n"),
                Err(_) => return,
            },
            // Shows whether anybody is still there.
            () = tokio::time::sleep(Duration::from_secs(15)) => ": still here\n\n".to_owned(),
            _ = stopping.wait_for(|stopping| *stopping) => return,
        };
        if write(&mut socket, line.as_bytes()).await.is_err() {
            return;
        }
    }
}

/// Server-sent events: the matrix, a row to an event.
async fn follow_matrix(mut socket: TcpStream, shared: &Shared, again: bool) {
    let mut stopping = shared.stopping.clone();
    if write(&mut socket, event_stream_head().as_bytes())
        .await
        .is_err()
    {
        return;
    }
    shared.matrix.begin(again);
    let mut changes = shared.matrix.changes();
    let mut seen = 0;
    loop {
        let (rows, done) = shared.matrix.after(seen);
        seen += rows.len();
        for row in rows {
            if write(&mut socket, format!("data: {row}\n\n").as_bytes())
                .await
                .is_err()
            {
                return;
            }
        }
        if done {
            let _ = write(&mut socket, b"event: done\ndata: {}\n\n").await;
            return;
        }
        tokio::select! {
            _ = changes.changed() => {}
            _ = stopping.wait_for(|stopping| *stopping) => return,
        }
    }
}
