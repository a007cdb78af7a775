//! One gRPC call over a unix socket: HTTP/2 by `h2`, the message's frame by hand.
//!
//! What this product asks by gRPC is one list of the kubelet's. A whole gRPC stack would bring a code
//! generator, a router and a balancer for it; the frame is a byte and a length.
//!
//! Invariants: a call has one deadline, and an answer is bounded before it is kept.

use std::fmt;
use std::future::poll_fn;
use std::io;
use std::path::Path;
use std::time::Duration;

use hyper::body::Bytes;
use tokio::net::UnixStream;
use tokio::runtime::Builder;
use tokio::time::timeout;

/// Bytes before a message: whether it is compressed, and its length.
const FRAME: usize = 5;

/// How much of what.
#[derive(Clone, Copy, Debug)]
pub struct CallLimits {
    /// For the whole call.
    pub deadline: Duration,
    /// Longest answer.
    pub bytes: usize,
}

/// Why a call has no answer.
#[derive(Debug)]
pub enum CallError {
    /// Nobody listens on the socket, or it may not be opened.
    Connect(io::Error),
    /// Not done in time.
    TooSlow(Duration),
    /// What came is no answer.
    Protocol(String),
    /// The server refuses: its status and its words.
    Refused(u32, String),
    /// The answer is longer than this.
    TooLong(usize),
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connect(error) => write!(f, "cannot connect: {error}"),
            Self::TooSlow(deadline) => write!(f, "no answer within {deadline:?}"),
            Self::Protocol(cause) => write!(f, "not a gRPC answer: {cause}"),
            Self::Refused(status, words) => write!(f, "refused with status {status}: {words}"),
            Self::TooLong(most) => write!(f, "the answer is longer than {most} bytes"),
        }
    }
}

impl std::error::Error for CallError {}

impl From<h2::Error> for CallError {
    fn from(error: h2::Error) -> Self {
        Self::Protocol(error.to_string())
    }
}

/// Calls `method` (`/package.Service/Method`) with one message and returns the one that answers it.
pub fn call(
    socket: &Path,
    method: &str,
    message: &[u8],
    limits: CallLimits,
) -> Result<Vec<u8>, CallError> {
    let runtime = Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .build()
        .map_err(CallError::Connect)?;
    runtime.block_on(async {
        let answer = timeout(limits.deadline, exchange(socket, method, message, limits)).await;
        answer.unwrap_or(Err(CallError::TooSlow(limits.deadline)))
    })
}

async fn exchange(
    socket: &Path,
    method: &str,
    message: &[u8],
    limits: CallLimits,
) -> Result<Vec<u8>, CallError> {
    let stream = UnixStream::connect(socket)
        .await
        .map_err(CallError::Connect)?;
    let (client, connection) = h2::client::handshake(stream).await?;
    // Ends with the runtime.
    tokio::spawn(async move {
        // What goes wrong there shows in the answer.
        let _ = connection.await;
    });
    let request = hyper::Request::post(format!("http://localhost{method}"))
        .header("content-type", "application/grpc")
        .header("te", "trailers")
        .body(())
        .map_err(|error| CallError::Protocol(error.to_string()))?;
    let length = u32::try_from(message.len()).map_err(|_| CallError::TooLong(limits.bytes))?;
    let mut framed = Vec::with_capacity(FRAME + message.len());
    framed.push(0);
    framed.extend_from_slice(&length.to_be_bytes());
    framed.extend_from_slice(message);
    let (answer, mut sender) = client.ready().await?.send_request(request, false)?;
    sender.send_data(Bytes::from(framed), true)?;
    let answer = answer.await?;
    // An error without a message comes in the head alone.
    check(answer.headers())?;
    if answer.status() != 200 {
        return Err(CallError::Protocol(format!("status {}", answer.status())));
    }
    let mut body = answer.into_body();
    let mut whole = Vec::new();
    while let Some(data) = body.data().await {
        let data = data?;
        if whole.len() + data.len() > limits.bytes + FRAME {
            return Err(CallError::TooLong(limits.bytes));
        }
        whole.extend_from_slice(&data);
        body.flow_control().release_capacity(data.len())?;
    }
    let trailers = poll_fn(|cx| body.poll_trailers(cx)).await?;
    check(&trailers.unwrap_or_default())?;
    unframed(whole)
}

/// The status that the server gave, where there is one.
fn check(headers: &hyper::HeaderMap) -> Result<(), CallError> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    match text("grpc-status").map(str::parse) {
        None | Some(Ok(0)) => Ok(()),
        Some(Ok(status)) => {
            let words = text("grpc-message").unwrap_or("no reason given");
            Err(CallError::Refused(status, words.to_owned()))
        }
        Some(Err(_)) => Err(CallError::Protocol("its status is no number".to_owned())),
    }
}

/// The message inside of its frame.
fn unframed(mut whole: Vec<u8>) -> Result<Vec<u8>, CallError> {
    let wrong = |what: &str| Err(CallError::Protocol(what.to_owned()));
    let Some((&[compressed, length @ ..], message)) = whole.split_first_chunk::<FRAME>() else {
        return wrong("no message in it");
    };
    if compressed != 0 {
        return wrong("it is compressed, which was not requested");
    }
    if u32::from_be_bytes(length) as usize != message.len() {
        return wrong("its length is another");
    }
    whole.drain(..FRAME);
    Ok(whole)
}
