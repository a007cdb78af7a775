//! A small HTTP/1.1 server for one page: threads, keep-alive, limits.
//!
//! Invariants: a request is answered from memory and never waits for the driver; a connection that
//! says nothing costs one small thread and is dropped after a while; above the limit of
//! connections new ones are told to come back; the page is rendered once for all who ask within
//! the same twentieth of a second.

use std::io::{self, BufRead, BufReader, IoSlice, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, TryLockError};
use std::thread;
use std::time::{Duration, Instant};

use super::metrics_text::{ProcessSeries, metrics_text};
use super::web_config::WebConfig;
use crate::Clock;
use crate::board::{GpuBoard, LiveBoard};
use crate::event::Presence;

const CONNECTIONS: usize = 512;
/// Longest head of a request.
const HEAD_BYTES: u64 = 8 << 10;
/// A kept-alive connection may be silent for this long: twice a slow scrape interval.
const IDLE: Duration = Duration::from_secs(120);
/// A page younger than this is given out again: state is read every 100 ms.
const PAGE_LIFE: Duration = Duration::from_millis(50);
/// While the next page is being rendered, one younger than this is given out.
const PAGE_OLD: Duration = Duration::from_millis(250);
/// Without scrapes the events would pile up: a dozen a second for each GPU, 200 bytes each.
const REFRESH: Duration = Duration::from_secs(5);
/// The sampler is alive while its last sample is younger than this.
const HEALTHY_AGE: Duration = Duration::from_secs(3);

/// Why the exporter cannot serve.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The address cannot be had.
    #[error(
        "cannot listen on {address} (hint: another exporter may be running; `--listen` chooses another address)"
    )]
    Listen {
        /// The address asked for.
        address: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
}

/// What every connection's thread shares.
struct Shared {
    board: Arc<LiveBoard>,
    processes: ProcessSeries,
    config: WebConfig,
    page: Mutex<Option<(Instant, Arc<str>)>>,
    /// Held by the one who renders the next page.
    rendering: Mutex<()>,
    connections: AtomicUsize,
    stopping: AtomicBool,
}

/// A running exporter; stops accepting when dropped.
pub struct Exporter {
    address: SocketAddr,
    shared: Arc<Shared>,
}

impl Exporter {
    /// Binds `address` and serves the board from threads of its own.
    pub fn start(
        address: SocketAddr,
        board: Arc<LiveBoard>,
        processes: ProcessSeries,
        config: WebConfig,
    ) -> Result<Self, ServeError> {
        let refused = |source| ServeError::Listen { address, source };
        let listener = TcpListener::bind(address).map_err(refused)?;
        let bound = listener.local_addr().map_err(refused)?;
        let shared = Arc::new(Shared {
            board,
            processes,
            config,
            page: Mutex::new(None),
            rendering: Mutex::new(()),
            connections: AtomicUsize::new(0),
            stopping: AtomicBool::new(false),
        });
        let accepting = Arc::clone(&shared);
        let named = |name: &str| thread::Builder::new().name(name.to_owned());
        named("accept")
            .spawn(move || accept(&listener, &accepting))
            .map_err(refused)?;
        let refreshing = Arc::clone(&shared);
        named("refresh")
            .spawn(move || {
                while !refreshing.stopping.load(Ordering::Relaxed) {
                    thread::sleep(REFRESH);
                    drop(refreshing.board.now());
                }
            })
            .map_err(refused)?;
        Ok(Self {
            address: bound,
            shared,
        })
    }

    /// Where it listens; of use when port 0 was asked for.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Exporter {
    fn drop(&mut self) {
        self.shared.stopping.store(true, Ordering::Relaxed);
        // Wakes the accepting thread, which then sees that it is over.
        let _ = TcpStream::connect_timeout(&self.address, Duration::from_millis(100));
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    // A handshake's arithmetic needs more room.
    let stack = if shared.config.tls.is_some() {
        512 << 10
    } else {
        128 << 10
    };
    for stream in listener.incoming() {
        if shared.stopping.load(Ordering::Relaxed) {
            return;
        }
        let Ok(mut stream) = stream else {
            // Out of file descriptors, most likely: some connection will end.
            thread::sleep(Duration::from_millis(10));
            continue;
        };
        if shared.connections.fetch_add(1, Ordering::AcqRel) >= CONNECTIONS {
            shared.connections.fetch_sub(1, Ordering::AcqRel);
            // Over TLS this would take a handshake: that connection is just closed.
            if shared.config.tls.is_none() {
                let full = Answer::text(503, "too many connections\n");
                let _ = write_answer(&mut stream, full, false, false);
            }
            continue;
        }
        let serving = Arc::clone(shared);
        let spawned = thread::Builder::new().stack_size(stack).spawn(move || {
            // A connection that breaks is its peer's affair.
            let _ = serve(stream, &serving);
            serving.connections.fetch_sub(1, Ordering::AcqRel);
        });
        if spawned.is_err() {
            shared.connections.fetch_sub(1, Ordering::AcqRel);
        }
    }
}

struct Answer {
    status: u16,
    kind: &'static str,
    body: Arc<str>,
}

impl Answer {
    fn text(status: u16, body: &str) -> Self {
        Self {
            status,
            kind: "text/plain; charset=utf-8",
            body: body.into(),
        }
    }
}

/// What is needed of a request.
#[derive(Debug, Default, PartialEq, Eq)]
struct Request {
    method: String,
    path: String,
    authorization: Option<String>,
    keep_alive: bool,
}

/// Reads a request's head; `None` at the end of the connection.
fn read_request(reader: &mut impl BufRead) -> io::Result<Option<Result<Request, Answer>>> {
    let mut limited = reader.take(HEAD_BYTES);
    let mut text = String::new();
    loop {
        let before = text.len();
        match limited.read_line(&mut text) {
            Ok(0) if text.is_empty() => return Ok(None),
            Ok(0) => return Ok(Some(Err(Answer::text(431, "the request is too long\n")))),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                return Ok(Some(Err(Answer::text(400, "the request is not text\n"))));
            }
            Err(error) => return Err(error),
        }
        if text[before..].trim_end().is_empty() && !text.trim().is_empty() {
            return Ok(Some(parse_request(&text)));
        }
    }
}

fn parse_request(text: &str) -> Result<Request, Answer> {
    let mut lines = text.lines().skip_while(|line| line.trim().is_empty());
    let mut first = lines.next().unwrap_or_default().split_whitespace();
    let (Some(method), Some(target), Some(version)) = (first.next(), first.next(), first.next())
    else {
        return Err(Answer::text(400, "this is not HTTP\n"));
    };
    if !version.starts_with("HTTP/1.") {
        return Err(Answer::text(505, "this is not HTTP/1.1\n"));
    }
    let mut request = Request {
        method: method.to_owned(),
        path: target.split('?').next().unwrap_or(target).to_owned(),
        authorization: None,
        keep_alive: version == "HTTP/1.1",
    };
    for line in lines {
        let Some((name, value)) = line.split_once(':') else {
            continue;
        };
        let value = value.trim();
        match name.trim().to_ascii_lowercase().as_str() {
            "authorization" => request.authorization = Some(value.to_owned()),
            "connection" if value.eq_ignore_ascii_case("close") => request.keep_alive = false,
            "connection" if value.eq_ignore_ascii_case("keep-alive") => request.keep_alive = true,
            // A body would be taken for the next request.
            "content-length" if value != "0" => {
                return Err(Answer::text(413, "requests have no body here\n"));
            }
            "transfer-encoding" => return Err(Answer::text(413, "requests have no body here\n")),
            _ => {}
        }
    }
    Ok(request)
}

/// Serves a connection, encrypted where the configuration says so, until it ends.
fn serve(stream: TcpStream, shared: &Shared) -> io::Result<()> {
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(IDLE))?;
    stream.set_write_timeout(Some(Duration::from_secs(10)))?;
    match &shared.config.tls {
        None => converse(&mut BufReader::with_capacity(1 << 10, stream), shared),
        Some(tls) => {
            let mut reader = BufReader::with_capacity(1 << 10, tls.accept(stream)?);
            let ended = converse(&mut reader, shared);
            // So that the peer can tell an end from a cut, and learns why a handshake failed. Nothing
            // is read any more: whoever does not speak TLS would keep this thread waiting.
            let stream = reader.get_mut();
            stream.conn.send_close_notify();
            while stream.conn.wants_write() && stream.conn.write_tls(&mut stream.sock)? > 0 {}
            ended
        }
    }
}

fn converse(reader: &mut BufReader<impl Read + Write>, shared: &Shared) -> io::Result<()> {
    while let Some(request) = read_request(reader)? {
        if shared.stopping.load(Ordering::Relaxed) {
            return Ok(());
        }
        match request {
            Err(answer) => return write_answer(reader.get_mut(), answer, false, false),
            Ok(request) => {
                let answer = respond(&request, shared);
                let head_only = request.method == "HEAD";
                write_answer(reader.get_mut(), answer, request.keep_alive, head_only)?;
                if !request.keep_alive {
                    return Ok(());
                }
            }
        }
    }
    Ok(())
}

fn respond(request: &Request, shared: &Shared) -> Answer {
    if request.method != "GET" && request.method != "HEAD" {
        return Answer::text(405, "only GET and HEAD\n");
    }
    // Health is for the machine's own watchers, who have no password, and says nothing of use to
    // anybody else.
    match request.path.as_str() {
        "/healthz" => return health(shared),
        "/readyz" => return readiness(shared),
        _ => {}
    }
    if !shared.config.users.admits(request.authorization.as_deref()) {
        return Answer::text(401, "a user and a password are needed\n");
    }
    match request.path.as_str() {
        "/metrics" => Answer {
            status: 200,
            kind: "text/plain; version=0.0.4; charset=utf-8",
            body: page(shared),
        },
        "/" => Answer::text(200, "warpsmith exporter: /metrics /healthz /readyz\n"),
        _ => Answer::text(404, "there is /metrics, /healthz and /readyz\n"),
    }
}

/// The metrics page, rendered at most every [`PAGE_LIFE`] by one of those who ask; the others get
/// the page before it, unless that is older than [`PAGE_OLD`].
fn page(shared: &Shared) -> Arc<str> {
    let known = |life: Duration| {
        let page = shared.page.lock().unwrap_or_else(PoisonError::into_inner);
        let young = page.as_ref().filter(|(made, _)| made.elapsed() < life);
        young.map(|(_, text)| Arc::clone(text))
    };
    if let Some(text) = known(PAGE_LIFE) {
        return text;
    }
    let _turn = match shared.rendering.try_lock() {
        Ok(turn) => turn,
        Err(TryLockError::Poisoned(turn)) => turn.into_inner(),
        Err(TryLockError::WouldBlock) => {
            if let Some(text) = known(PAGE_OLD) {
                return text;
            }
            let turn = shared
                .rendering
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            if let Some(text) = known(PAGE_LIFE) {
                return text;
            }
            turn
        }
    };
    let mut text = String::with_capacity(16 << 10);
    let complete = {
        let board = shared.board.now();
        metrics_text(&board, Clock::System.now(), shared.processes, &mut text);
        // A page of the first milliseconds, before the first samples, is of no use to the next.
        let waits = |gpu: &GpuBoard| gpu.presence == Presence::Live && gpu.state_at.is_none();
        !board.gpus.iter().any(waits)
    };
    let text: Arc<str> = text.into();
    if !complete {
        return text;
    }
    *shared.page.lock().unwrap_or_else(PoisonError::into_inner) =
        Some((Instant::now(), Arc::clone(&text)));
    text
}

/// Alive: the process answers, and no GPU that has not been lost is without a young sample.
fn health(shared: &Shared) -> Answer {
    let now = Clock::System.now();
    let board = shared.board.now();
    let stale = board
        .gpus
        .iter()
        .zip(&board.inventory.gpus)
        .find(|(gpu, _)| {
            gpu.presence == Presence::Stale
                || gpu.presence == Presence::Live
                    && gpu.state_at.is_some_and(|at| now.since(at) > HEALTHY_AGE)
        });
    match stale {
        None => Answer::text(200, "ok\n"),
        Some((_, identity)) => Answer::text(
            503,
            &format!(
                "GPU {}: no sample for more than {} s\n",
                identity.index,
                HEALTHY_AGE.as_secs()
            ),
        ),
    }
}

/// Ready: NVML works and at least one GPU has answered.
fn readiness(shared: &Shared) -> Answer {
    let board = shared.board.now();
    if let Some(reason) = &board.inventory.nvml_absent {
        return Answer::text(503, &format!("{reason}\n"));
    }
    let answering = board
        .gpus
        .iter()
        .any(|gpu| gpu.state_at.is_some() && gpu.presence == Presence::Live);
    if answering {
        Answer::text(200, "ready\n")
    } else {
        Answer::text(503, "no GPU has answered\n")
    }
}

fn write_answer(
    writer: &mut impl Write,
    answer: Answer,
    keep_alive: bool,
    head_only: bool,
) -> io::Result<()> {
    let reason = match answer.status {
        200 => "OK",
        400 => "Bad Request",
        401 => "Unauthorized",
        404 => "Not Found",
        405 => "Method Not Allowed",
        413 => "Content Too Large",
        431 => "Request Header Fields Too Large",
        503 => "Service Unavailable",
        _ => "HTTP Version Not Supported",
    };
    let challenge = if answer.status == 401 {
        "WWW-Authenticate: Basic realm=\"warpsmith\"\r\n"
    } else {
        ""
    };
    let connection = if keep_alive { "keep-alive" } else { "close" };
    let head = format!(
        "HTTP/1.1 {} {reason}\r\nContent-Type: {}\r\nContent-Length: {}\r\n{challenge}Connection: {connection}\r\n\r\n",
        answer.status,
        answer.kind,
        answer.body.len()
    );
    let body = if head_only { "" } else { &*answer.body };
    write_both(writer, head.as_bytes(), body.as_bytes())
}

/// Writes two pieces as one packet where they fit, without copying them together.
fn write_both(writer: &mut impl Write, head: &[u8], body: &[u8]) -> io::Result<()> {
    let mut pieces = [IoSlice::new(head), IoSlice::new(body)];
    let mut pieces = &mut pieces[..];
    // Leaves out what is empty.
    IoSlice::advance_slices(&mut pieces, 0);
    while !pieces.is_empty() {
        match writer.write_vectored(pieces) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => IoSlice::advance_slices(&mut pieces, written),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    // An encrypted stream keeps what did not fit.
    writer.flush()
}
