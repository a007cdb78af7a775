//! Reading pages from many servers at once, and sending what answers with one.
//!
//! Invariants: every page has one deadline, from the name to the last byte; a body is bounded before it
//! is kept; a server that hangs, floods or speaks something else costs its own place and nobody else's;
//! redirects are not followed, so that a password goes where it was meant to.

use std::fmt;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use hyper::client::conn::http1;
use hyper::rt::ReadBufCursor;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, lookup_host};
use tokio::runtime::Builder;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

/// Threads for names, which the system resolves one per thread.
const RESOLVERS: usize = 32;
const STACK_BYTES: usize = 256 << 10;
/// Read from a socket at once.
const READ_BYTES: usize = 8 << 10;

/// A page to read.
#[derive(Clone, Default)]
pub struct Target {
    /// Name or address, without brackets.
    pub host: String,
    /// Port.
    pub port: u16,
    /// Path, from the first `/`.
    pub path: String,
    /// Headers beside our own, such as `authorization`.
    pub headers: Vec<(String, String)>,
    /// What is sent, with its type; without it the page is only requested.
    pub post: Option<(&'static str, Bytes)>,
    /// Whom to trust; plain where absent.
    pub tls: Option<Arc<ClientConfig>>,
}

/// How much of what.
#[derive(Clone, Copy, Debug)]
pub struct ReadLimits {
    /// For a whole page, from the name to the last byte.
    pub deadline: Duration,
    /// Longest body.
    pub body_bytes: usize,
    /// Connections that are open at once.
    pub at_once: usize,
    /// Of these, pages that are read at once: what takes memory.
    pub pages_at_once: usize,
}

/// What a server answered.
#[derive(Clone, Debug)]
pub struct Page {
    /// The status.
    pub status: u16,
    /// How long the server wants to be left alone, where it says so in seconds.
    pub retry_after: Option<Duration>,
    /// The body.
    pub body: Bytes,
    /// From the first packet to the last byte.
    pub took: Duration,
}

/// Why there is no page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReadError {
    /// The name has no address.
    Name(String),
    /// Nobody takes the connection.
    Connect(String),
    /// No encrypted connection came about.
    Handshake(String),
    /// Not done in time; what it was doing by then.
    TooSlow(&'static str),
    /// The body is longer than this.
    TooLong(usize),
    /// What came is no answer.
    NotHttp(String),
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(cause) => write!(f, "no such host: {cause}"),
            Self::Connect(cause) => write!(f, "cannot connect: {cause}"),
            Self::Handshake(cause) => write!(f, "TLS handshake failed: {cause}"),
            Self::TooSlow(doing) => write!(f, "no answer in time: {doing}"),
            Self::TooLong(most) => write!(f, "the page is longer than {most} bytes"),
            Self::NotHttp(cause) => write!(f, "not an HTTP answer: {cause}"),
        }
    }
}

impl std::error::Error for ReadError {}

/// Reads every page; `take` gets each as soon as it is there, with the position of its target, so that
/// nothing has to be kept.
pub fn read_pages(
    targets: &[Target],
    limits: ReadLimits,
    mut take: impl FnMut(usize, Result<Page, ReadError>),
) -> io::Result<()> {
    let runtime = Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .max_blocking_threads(RESOLVERS)
        .thread_stack_size(STACK_BYTES)
        .build()?;
    runtime.block_on(async {
        let room = Arc::new(Semaphore::new(limits.at_once.max(1)));
        let memory = Arc::new(Semaphore::new(limits.pages_at_once.max(1)));
        let mut pages = JoinSet::new();
        for (position, target) in targets.iter().enumerate() {
            // It is closed by nobody.
            let place = Arc::clone(&room).acquire_owned().await.ok();
            while let Some(Ok((position, page))) = pages.try_join_next() {
                take(position, page);
            }
            let (target, memory) = (target.clone(), Arc::clone(&memory));
            pages.spawn(async move {
                let page = read(&target, limits, &memory).await;
                drop(place);
                (position, page)
            });
        }
        while let Some(done) = pages.join_next().await {
            if let Ok((position, page)) = done {
                take(position, page);
            }
        }
    });
    // A name that is still being resolved is nobody's any more.
    runtime.shutdown_background();
    Ok(())
}

async fn read(target: &Target, limits: ReadLimits, memory: &Semaphore) -> Result<Page, ReadError> {
    let mut doing = "resolving the name";
    let started = Instant::now();
    let socket = timeout(limits.deadline, connect(target, &mut doing)).await;
    let socket = socket.unwrap_or(Err(ReadError::TooSlow(doing)))?;
    let connected = started.elapsed();
    // Waiting for the others is not the server's time. It is closed by nobody.
    let place = memory.acquire().await.ok();
    let asked = Instant::now();
    let left = limits.deadline.saturating_sub(connected);
    let answer = timeout(left, exchange(socket, target, limits, &mut doing)).await;
    drop(place);
    let mut page = answer.unwrap_or(Err(ReadError::TooSlow(doing)))?;
    page.took = connected + asked.elapsed();
    Ok(page)
}

async fn exchange(
    socket: TcpStream,
    target: &Target,
    limits: ReadLimits,
    doing: &mut &'static str,
) -> Result<Page, ReadError> {
    // Failing leaves a socket that waits a little longer for its last packet.
    let _ = socket.set_nodelay(true);
    let Some(tls) = &target.tls else {
        return ask(socket, target, limits, doing).await;
    };
    *doing = "TLS handshake";
    let name = ServerName::try_from(target.host.clone())
        .map_err(|error| ReadError::Handshake(error.to_string()))?;
    let stream = TlsConnector::from(Arc::clone(tls)).connect(name, socket);
    let stream = stream
        .await
        .map_err(|error| ReadError::Handshake(error.to_string()))?;
    ask(stream, target, limits, doing).await
}

/// The first of the name's addresses that takes the connection.
async fn connect(target: &Target, doing: &mut &'static str) -> Result<TcpStream, ReadError> {
    let addresses = lookup_host((target.host.as_str(), target.port)).await;
    let addresses = addresses.map_err(|error| ReadError::Name(plain(&error)))?;
    *doing = "connecting";
    let mut refused = ReadError::Name("it has no address".to_owned());
    for address in addresses {
        match TcpStream::connect(address).await {
            Ok(socket) => return Ok(socket),
            Err(error) => refused = ReadError::Connect(plain(&error)),
        }
    }
    Err(refused)
}

/// Without the number that the system has for it.
fn plain(error: &io::Error) -> String {
    let text = error.to_string();
    let end = text.find(" (os error").unwrap_or(text.len());
    text[..end].to_lowercase()
}

async fn ask<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(
    stream: S,
    target: &Target,
    limits: ReadLimits,
    doing: &mut &'static str,
) -> Result<Page, ReadError> {
    *doing = "waiting for the answer";
    let broken = |error: hyper::Error| ReadError::NotHttp(root(&error));
    let (mut sender, connection) = http1::handshake(Bridge(stream)).await.map_err(broken)?;
    // Ends with the connection, at the latest when the runtime does.
    let connection = tokio::spawn(async move {
        // What goes wrong there shows in the answer.
        let _ = connection.await;
    });
    let answered = async {
        let host = match target.host.contains(':') {
            true => format!("[{}]:{}", target.host, target.port),
            false => format!("{}:{}", target.host, target.port),
        };
        let mut request = hyper::Request::builder()
            .uri(&target.path)
            .header("host", host)
            .header("connection", "close");
        request = match &target.post {
            None => request.header("accept", "text/plain"),
            Some((kind, _)) => request.method("POST").header("content-type", *kind),
        };
        for (name, value) in &target.headers {
            request = request.header(name, value);
        }
        let sent = target.post.as_ref().map(|(_, body)| body.clone());
        let request = request
            .body(Whole(sent.filter(|body| !body.is_empty())))
            .map_err(|error| ReadError::NotHttp(error.to_string()))?;
        let answer = sender.send_request(request).await.map_err(broken)?;
        *doing = "reading the page";
        let seconds = answer.headers().get("retry-after");
        let seconds = seconds.and_then(|text| text.to_str().ok()?.trim().parse().ok());
        Ok(Page {
            status: answer.status().as_u16(),
            retry_after: seconds.map(Duration::from_secs),
            body: collect(answer.into_body(), limits.body_bytes).await?,
            took: Duration::ZERO,
        })
    };
    let answered = answered.await;
    connection.abort();
    answered
}

/// The innermost cause, which says most.
fn root(error: &hyper::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}

async fn collect(mut body: Incoming, most: usize) -> Result<Bytes, ReadError> {
    // A length that is given is refused before anything is read.
    if body.size_hint().lower() > most as u64 {
        return Err(ReadError::TooLong(most));
    }
    let mut whole = Vec::new();
    while let Some(frame) = poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await {
        let frame = frame.map_err(|error| ReadError::NotHttp(root(&error)))?;
        let Ok(data) = frame.into_data() else {
            continue;
        };
        if whole.len() + data.len() > most {
            return Err(ReadError::TooLong(most));
        }
        whole.extend_from_slice(&data);
    }
    Ok(whole.into())
}

/// The body of a request: all at once, or none.
struct Whole(Option<Bytes>);

impl Body for Whole {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        Poll::Ready(self.0.take().map(|body| Ok(Frame::data(body))))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.0.as_ref().map_or(0, |body| body.len() as u64))
    }
}

/// A stream of tokio's under hyper.
struct Bridge<S>(S);

impl<S: AsyncRead + Unpin> hyper::rt::Read for Bridge<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        mut cursor: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let mut bytes = [0; READ_BYTES];
        let room = cursor.remaining().min(READ_BYTES);
        let mut buffer = ReadBuf::new(&mut bytes[..room]);
        ready!(Pin::new(&mut self.get_mut().0).poll_read(cx, &mut buffer))?;
        cursor.put_slice(buffer.filled());
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> hyper::rt::Write for Bridge<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().0).poll_write(cx, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().0).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().0).poll_shutdown(cx)
    }
}
