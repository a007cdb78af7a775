//! What an application says, and how it becomes bytes.

use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;

use hyper::body::Bytes;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::{Response, StatusCode};
use tokio::net::TcpStream;

use crate::refusal::Refusal;
use crate::request::Request;

/// What answers requests.
pub trait Application: Send + Sync + 'static {
    /// Answers a request; nothing here may wait for the client.
    fn answer(&self, request: Request, peer: SocketAddr) -> impl Future<Output = Reply> + Send;

    /// The answer to what never became a request.
    fn refuse(&self, refusal: Refusal) -> Answer;
}

/// Serves the rest of a connection: the socket, and the bytes that arrived already.
pub type Handler =
    Box<dyn FnOnce(TcpStream, Bytes) -> Pin<Box<dyn Future<Output = ()> + Send>> + Send>;

/// What a connection does next. Connections with TLS cannot be taken over, and are closed.
pub enum Reply {
    /// Writes this.
    Whole(Answer),
    /// Switches protocols: writes the head through hyper, and hands the socket over.
    Upgrade(Answer, Handler),
    /// Writes the head and hands the socket over: for answers whose pace is the product. They end
    /// with the connection.
    Stream(Answer, Handler),
}

/// Status, headers and body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    status: StatusCode,
    headers: HeaderMap,
    body: Bytes,
}

impl Answer {
    /// An answer without headers and body. A status that is none is an error of the server.
    pub fn empty(status: u16) -> Self {
        Self {
            status: StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR),
            headers: HeaderMap::new(),
            body: Bytes::new(),
        }
    }

    /// An answer of this type, with its length.
    pub fn new(status: u16, kind: &'static str, body: impl Into<Bytes>) -> Self {
        let body = body.into();
        let mut answer = Self::empty(status).with("content-type", kind);
        let length = HeaderValue::from(body.len());
        answer.headers.insert(header::CONTENT_LENGTH, length);
        answer.body = body;
        answer
    }

    /// With a header, its name in lower case; takes the place of one with that name.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: &'static str) -> Self {
        let value = HeaderValue::from_static(value);
        self.headers.insert(HeaderName::from_static(name), value);
        self
    }

    /// With a header whose value was computed; left out where it cannot be one.
    #[must_use]
    pub fn with_computed(mut self, name: &'static str, value: impl AsRef<str>) -> Self {
        if let Ok(value) = HeaderValue::from_str(value.as_ref()) {
            self.headers.insert(HeaderName::from_static(name), value);
        }
        self
    }

    /// The status.
    pub fn status(&self) -> u16 {
        self.status.as_u16()
    }

    fn reason(&self) -> &'static str {
        match self.status {
            // As RFC 9110 names it; the library has the older name.
            StatusCode::PAYLOAD_TOO_LARGE => "Content Too Large",
            status => status.canonical_reason().unwrap_or("Error"),
        }
    }

    /// As hyper takes it.
    pub(crate) fn into_response<B>(self, body: impl FnOnce(Bytes) -> B) -> Response<B> {
        let reason = hyper::ext::ReasonPhrase::from_static(self.reason().as_bytes());
        let mut response = Response::new(body(self.body));
        *response.status_mut() = self.status;
        *response.headers_mut() = self.headers;
        response.extensions_mut().insert(reason);
        response
    }

    /// Head and body, for connections on which hyper does not write; the last of its connection.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = format!("HTTP/1.1 {} {}\r\n", self.status.as_str(), self.reason());
        for (name, value) in &self.headers {
            let mut begin = true;
            for letter in name.as_str().chars() {
                bytes.push(match begin {
                    true => letter.to_ascii_uppercase(),
                    false => letter,
                });
                begin = letter == '-';
            }
            bytes.push_str(": ");
            bytes.push_str(value.to_str().unwrap_or_default());
            bytes.push_str("\r\n");
        }
        bytes.push_str("Connection: close\r\n\r\n");
        let mut bytes = bytes.into_bytes();
        bytes.extend_from_slice(&self.body);
        bytes
    }
}
