//! A connection from its first byte: requests one after another, until one of them takes it over.

use std::convert::Infallible;
use std::future::{Future, pending, poll_fn};
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Response, Version, header};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::timeout;

use crate::answer::{Answer, Application, Handler, Reply};
use crate::guarded::{Guarded, Phase, Progress, Transport};
use crate::limits::Limits;
use crate::refusal::Refusal;
use crate::request::{Failure, Request, has_word};

const MOST_HEADERS: usize = 64;
/// hyper takes no smaller buffer.
const LEAST_HEAD_BYTES: usize = 8 << 10;
/// How long the last words to a client may take.
const FAREWELL: Duration = Duration::from_millis(500);

/// Who gets the socket.
enum Handover {
    /// After hyper has written that it switches protocols.
    Upgrade(Handler),
    /// In place of hyper's answer.
    Stream(Answer, Handler),
}

type Waiting = Arc<Mutex<Option<Handover>>>;

/// Serves a connection until it ends.
pub(crate) async fn serve<A: Application>(
    transport: Transport,
    peer: SocketAddr,
    application: Arc<A>,
    limits: Limits,
    progress: Arc<Progress>,
    mut stopping: watch::Receiver<bool>,
) {
    let conversation = converse(
        transport,
        peer,
        &application,
        limits,
        progress,
        &mut stopping,
    );
    let Some(after) = conversation.await else {
        return;
    };
    match after {
        After::TakeOver(handler, mut socket, head, bytes) => {
            if write_within(&mut socket, &head, limits.write).await.is_ok() {
                handler(socket, bytes).await;
            }
        }
        After::Refuse(refusal, transport) => {
            let last = application.refuse(refusal).encode();
            // A client that does not take it is left.
            let _ = timeout(FAREWELL, say_last(transport, &last)).await;
        }
        After::Close(mut transport) => {
            let _ = timeout(FAREWELL, transport.shutdown()).await;
        }
    }
}

/// What is left to do when the last request was served.
enum After {
    /// Somebody else goes on, after these bytes are written and with those that arrived.
    TakeOver(Handler, TcpStream, Vec<u8>, Bytes),
    /// Something came that is no request.
    Refuse(Refusal, Transport),
    /// All is said.
    Close(Transport),
}

/// Speaks HTTP; `None` where the connection is just dropped.
async fn converse<A: Application>(
    transport: Transport,
    peer: SocketAddr,
    application: &Arc<A>,
    limits: Limits,
    progress: Arc<Progress>,
    stopping: &mut watch::Receiver<bool>,
) -> Option<After> {
    let waiting = Waiting::default();
    let service = {
        let (progress, waiting) = (Arc::clone(&progress), Arc::clone(&waiting));
        let application = Arc::clone(application);
        service_fn(move |request| {
            progress.enter(Phase::Busy);
            let exchange = exchange(
                request,
                peer,
                Arc::clone(&application),
                limits,
                Arc::clone(&progress),
                Arc::clone(&waiting),
            );
            Box::pin(exchange) as Pin<Box<dyn Future<Output = _> + Send>>
        })
    };
    let guarded = Guarded::new(transport, Arc::clone(&progress), limits);
    // Boxed, so that what takes the connection over does not carry it along.
    let mut http = Box::new(
        http1::Builder::new()
            .title_case_headers(true)
            .auto_date_header(false)
            // Whoever has said everything still gets the answer.
            .half_close(true)
            .max_headers(MOST_HEADERS)
            .max_buf_size(limits.head_bytes.max(LEAST_HEAD_BYTES))
            .serve_connection(guarded, service),
    );
    let is_stream = || {
        let waiting = waiting.lock().unwrap_or_else(PoisonError::into_inner);
        matches!(*waiting, Some(Handover::Stream(..)))
    };
    let mut draining = false;
    let ended = loop {
        let polled = poll_fn(|cx| match http.poll_without_shutdown(cx) {
            // Answers to requests before it are on their way first.
            Poll::Pending if is_stream() && !progress.is_blocked() => Poll::Ready(Ok(())),
            polled => polled,
        });
        tokio::select! {
            ended = polled => break ended,
            _ = stopping.wait_for(|stopping| *stopping), if !draining => {
                if !progress.is_serving() {
                    return None;
                }
                draining = true;
                Pin::new(&mut *http).graceful_shutdown();
            }
        }
    };
    let parts = http.into_parts();
    let transport = parts.io.into_transport();
    let handover = waiting
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .take();
    match (ended, handover, transport) {
        (Ok(()), Some(handover), Transport::Plain(socket)) => {
            // Its place is nobody else's from now on.
            progress.enter(Phase::Busy);
            let (handler, head) = match handover {
                Handover::Upgrade(handler) => (handler, Vec::new()),
                Handover::Stream(answer, handler) => (handler, answer.encode()),
            };
            Some(After::TakeOver(handler, socket, head, parts.read_buf))
        }
        (Ok(()), None, transport) => Some(After::Close(transport)),
        (Err(error), None, transport) if error.is_parse() && !progress.is_serving() => {
            Some(After::Refuse(Refusal::of(&error), transport))
        }
        // Broken, or too slow.
        _ => None,
    }
}

/// One request and its answer.
async fn exchange<A: Application>(
    request: hyper::Request<Incoming>,
    peer: SocketAddr,
    application: Arc<A>,
    limits: Limits,
    progress: Arc<Progress>,
    waiting: Waiting,
) -> Result<Response<Whole>, hyper::Error> {
    let (head, body) = request.into_parts();
    let keep_alive = match head.version {
        Version::HTTP_11 => !has_word(&head.headers, header::CONNECTION, "close"),
        _ => has_word(&head.headers, header::CONNECTION, "keep-alive"),
    };
    let whole = |answer: Answer, connection| {
        answer
            .with("connection", connection)
            .into_response(|data| Whole {
                data: Some(data).filter(|data| !data.is_empty()),
                progress: Arc::clone(&progress),
            })
    };
    let hand_over = |handover| {
        *waiting.lock().unwrap_or_else(PoisonError::into_inner) = Some(handover);
    };
    let request = match Request::receive(head, body, &limits).await {
        Ok(request) => request,
        // What is left of a body that is not read would be taken for the next request.
        Err(Failure::Refused(refusal)) => return Ok(whole(application.refuse(refusal), "close")),
        Err(Failure::Broken(error)) => return Err(error),
    };
    match application.answer(request, peer).await {
        Reply::Whole(answer) => {
            let connection = if keep_alive { "keep-alive" } else { "close" };
            Ok(whole(answer, connection))
        }
        Reply::Upgrade(answer, handler) => {
            hand_over(Handover::Upgrade(handler));
            Ok(whole(answer, "Upgrade"))
        }
        Reply::Stream(answer, handler) => {
            hand_over(Handover::Stream(answer, handler));
            pending().await
        }
    }
}

/// A body that is all there, and notes when hyper is done with it.
struct Whole {
    data: Option<Bytes>,
    progress: Arc<Progress>,
}

impl Body for Whole {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.data.take().map(|data| Ok(Frame::data(data))))
    }

    fn is_end_stream(&self) -> bool {
        self.data.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.data.as_ref().map_or(0, |data| data.len() as u64))
    }
}

impl Drop for Whole {
    fn drop(&mut self) {
        self.progress.enter(Phase::Answered);
    }
}

/// Writes, and lets the client close first: closing with unread bytes would take the answer away
/// from it.
async fn say_last(mut transport: Transport, bytes: &[u8]) -> io::Result<()> {
    transport.write_all(bytes).await?;
    transport.shutdown().await?;
    let mut unread = [0; 1024];
    while transport.read(&mut unread).await? > 0 {}
    Ok(())
}

/// Writes all of it, or gives up on a client that does not take it in time.
pub async fn write_within(socket: &mut TcpStream, bytes: &[u8], most: Duration) -> io::Result<()> {
    match timeout(most, socket.write_all(bytes)).await {
        Ok(written) => written,
        Err(_) => Err(io::ErrorKind::TimedOut.into()),
    }
}
