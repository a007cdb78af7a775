//! The life of a listener's connection.
//!
//! Invariants: nothing here waits while it holds something that others need; what the client sends
//! is bounded in size and rate; a client that takes nothing is closed after a while; a stream whose
//! connection breaks is kept for its listener.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::net::TcpStream;
use tokio::time::{MissedTickBehavior, interval, timeout};
use warpsmith_core::{Finding, Severity};
use warpsmith_http::Bytes;
use warpsmith_http::websocket::{Decoder, Incoming, Opcode, Role, Violation};
use warpsmith_synth::Params;

use super::budget::Budget;
use super::feed::Feed;
use super::greeting::{Greeted, greet};
use super::outbox::Outbox;
use crate::api;
use crate::error::ProtocolError;
use crate::protocol::{
    ClientMessage, Control, Credit, MOST_TEXT_BYTES, ServerMessage, parse_client,
};
use crate::seats::Seat;
use crate::server::Shared;

/// How long a connection may take to say hello.
const HELLO: Duration = Duration::from_secs(10);
/// A client that takes nothing for this long, while something waits for it, is closed.
const STALL: Duration = Duration::from_secs(5);
/// How long the last words to a client may take.
const FAREWELL: Duration = Duration::from_millis(500);
/// A silent client is pinged after the first, and closed after the second.
const SILENCE: [Duration; 2] = [Duration::from_secs(15), Duration::from_secs(45)];
/// Samples rendered before others get their turn: a tenth of a millisecond's work. Whoever has just
/// come waits for no more than that of each, not for whole buffers.
const TURN: u64 = 4_800;
/// Reads before others get their turn.
const READS: usize = 8;

/// How a connection ends.
enum End {
    /// The peer is gone, or the socket broke.
    Broken,
    /// The listener does not come back for its stream.
    Bye,
    /// The peer closed, and may come back.
    Closed,
    /// We close, with a code and a reason.
    Close(u16, &'static str),
}

impl From<io::Error> for End {
    fn from(_: io::Error) -> Self {
        Self::Broken
    }
}

/// Serves a WebSocket until it ends; `bytes` arrived already.
pub(crate) async fn run(socket: TcpStream, peer: SocketAddr, bytes: Bytes, shared: Arc<Shared>) {
    let mut connection = Connection {
        socket,
        decoder: Decoder::new(Role::Server, MOST_TEXT_BYTES),
        outbox: Outbox::new(),
        budget: Budget::new(shared.limits.messages_per_second),
        heard: Instant::now(),
    };
    connection.decoder.push(&bytes);
    drop(bytes);
    let greeted = match timeout(HELLO, connection.greeting(peer, &shared)).await {
        Ok(Ok(greeted)) => greeted,
        Ok(Err(end)) => return connection.end(&end).await,
        Err(_) => {
            return connection
                .end(&End::Close(1002, "hello did not come"))
                .await;
        }
    };
    let Greeted {
        seat,
        feed,
        welcome,
        place,
    } = greeted;
    let (stream, resumed) = (seat.stream, welcome.resumed);
    shared.events.tell("welcome", || {
        json!({ "stream": stream, "peer": peer.to_string(), "rate": welcome.rate, "codec": welcome.codec, "seed": welcome.seed, "resumed": resumed, "shared": welcome.shared })
    });
    connection
        .outbox
        .text(&ServerMessage::Welcome(Box::new(welcome)).encode());
    let mut listener = Listener {
        connection,
        feed,
        seat: Arc::clone(&seat),
        shared: Arc::clone(&shared),
        hello_at: Some(Instant::now()),
        credit_at: None,
        blocked_since: None,
        underruns: [0; 2],
    };
    let mut end = listener.listen().await;
    if matches!(end, End::Bye | End::Closed) {
        // Whoever closes in the middle of a frame gets the rest of it before the answer.
        let _ = timeout(FAREWELL, listener.finish_frame()).await;
    }
    let Listener {
        mut connection,
        feed,
        ..
    } = listener;
    let bye = matches!(end, End::Bye);
    if connection.outbox.abandon_audio() {
        // Half a frame is out: nothing that came after it could be read.
        end = End::Broken;
    }
    // Kept before the seat is free, so that whoever comes back finds one or the other.
    if let (Feed::Own { stream: own, .. }, false) = (feed, bye) {
        shared.parking.keep(stream, seat.key.clone(), own);
    }
    shared.seats.leave(&seat);
    drop(place);
    let why = match &end {
        _ if bye => "the listener left",
        End::Broken | End::Bye | End::Closed => "the connection broke",
        End::Close(_, reason) => reason,
    };
    shared.events.tell("left", || {
        json!({
            "stream": stream, "why": why,
            "seconds": seat.since.elapsed().as_secs_f64(),
            "sent": seat.sent.load(Ordering::Relaxed),
            "underruns": seat.underruns.load(Ordering::Relaxed),
        })
    });
    connection.end(&end).await;
}

/// Socket, decoder and outbox.
struct Connection {
    socket: TcpStream,
    decoder: Decoder,
    outbox: Outbox,
    budget: Budget,
    /// When the client was last heard.
    heard: Instant,
}

impl Connection {
    /// Reads what is there; whether there was an end.
    fn read(&mut self) -> io::Result<()> {
        let mut buffer = [0; 4096];
        for _ in 0..READS {
            match self.socket.try_read(&mut buffer) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(count) => {
                    self.heard = Instant::now();
                    self.decoder.push(&buffer[..count]);
                    if count < buffer.len() {
                        return Ok(());
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// The next text message; answers pings on the way.
    fn message(&mut self) -> Result<Option<String>, End> {
        loop {
            let violated = |Violation { code, what }| End::Close(code, what);
            let Some(incoming) = self.decoder.next_message().map_err(violated)? else {
                return Ok(None);
            };
            if !self.budget.spend(Instant::now()) {
                let error = ProtocolError::TooMany {
                    most: self.budget.per_second(),
                };
                self.refuse(&error.finding());
                return Err(End::Close(error.close_code(), "too many messages"));
            }
            match incoming {
                Incoming::Text(text) => return Ok(Some(text)),
                Incoming::Ping(payload) => self.outbox.control(Opcode::Pong, &payload),
                Incoming::Pong => {}
                Incoming::Binary(_) => return Err(End::Close(1003, "clients send text")),
                Incoming::Close(code) => {
                    // Answered with what was said; a code that was not given cannot be sent.
                    let answer = if code == 1005 { 1000 } else { code };
                    self.outbox.close(answer, "");
                    return Err(if code == 1000 { End::Bye } else { End::Closed });
                }
            }
            if self.outbox.is_flooded() {
                return Err(End::Close(1008, "answers pile up"));
            }
        }
    }

    fn refuse(&mut self, finding: &Finding) {
        let finding = finding.clone();
        self.outbox.text(&ServerMessage::Error { finding }.encode());
    }

    /// Waits for a hello that can be answered with a welcome.
    async fn greeting(&mut self, peer: SocketAddr, shared: &Shared) -> Result<Greeted, End> {
        loop {
            while let Some(text) = self.message()? {
                let greeted = match parse_client(&text) {
                    Ok(ClientMessage::Hello(hello)) => greet(&hello, peer, shared).await,
                    Ok(ClientMessage::Bye) => return Err(End::Bye),
                    Ok(_) => Err(ProtocolError::OutOfTurn {
                        what: "a connection begins with `hello`",
                    }
                    .finding()),
                    Err(error) => Err(error.finding()),
                };
                match greeted {
                    Ok(greeted) => return Ok(greeted),
                    Err(finding) => {
                        shared.metrics.violations.add(1);
                        self.refuse(&finding);
                    }
                }
            }
            self.flush().await?;
            self.socket.readable().await?;
            self.read()?;
        }
    }

    /// Writes text and control frames; there is no audio yet, or no more.
    async fn flush(&mut self) -> io::Result<()> {
        while !self.outbox.is_empty() {
            match self.outbox.write_small(&self.socket) {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.socket.writable().await?
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Says why, if the client still listens, and lets it close first.
    async fn end(&mut self, end: &End) {
        match end {
            End::Broken => return,
            End::Bye | End::Closed => {}
            End::Close(code, reason) => {
                self.outbox.close(*code, reason);
            }
        }
        let farewell = async {
            self.flush().await?;
            // Closing with unread bytes would take the last frame away from the client.
            let mut buffer = [0; 1024];
            loop {
                self.socket.readable().await?;
                match self.socket.try_read(&mut buffer) {
                    Ok(0) => return Ok(()),
                    Ok(_) => {}
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                    Err(error) => return Err::<(), io::Error>(error),
                }
            }
        };
        // Whoever does not go is left.
        let _ = timeout(FAREWELL, farewell).await;
    }
}

/// A welcomed listener.
struct Listener {
    connection: Connection,
    feed: Feed,
    seat: Arc<Seat>,
    shared: Arc<Shared>,
    /// When hello was answered, until the first audio is out.
    hello_at: Option<Instant>,
    /// When credit came, until what it allows is out.
    credit_at: Option<Instant>,
    /// Since when the socket takes nothing.
    blocked_since: Option<Instant>,
    /// Events and frames of silence, as the client counted them last.
    underruns: [u64; 2],
}

/// Why writing paused.
#[derive(PartialEq, Eq)]
enum Pause {
    /// There is nothing to send.
    Idle,
    /// The socket takes no more.
    Blocked,
    /// Others have waited long enough.
    Turn,
}

impl Listener {
    async fn listen(&mut self) -> End {
        let shared = Arc::clone(&self.shared);
        let seat = Arc::clone(&self.seat);
        let mut stopping = shared.stopping.clone();
        let mut tick = interval(Duration::from_secs(1));
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let pause = match self.take_messages().and_then(|()| self.pump()) {
                Ok(pause) => pause,
                Err(end) => return end,
            };
            if pause == Pause::Turn {
                tokio::task::yield_now().await;
                continue;
            }
            let blocked = pause == Pause::Blocked;
            let Connection { socket, .. } = &self.connection;
            tokio::select! {
                ready = socket.readable() => {
                    if let Err(error) = ready.and_then(|()| self.connection.read()) {
                        return error.into();
                    }
                }
                ready = socket.writable(), if blocked => {
                    if let Err(error) = ready {
                        return error.into();
                    }
                }
                () = self.feed.heard(), if !blocked => {}
                () = seat.woken.notified() => {
                    if seat.is_evicted() {
                        return End::Close(1001, "the stream went to another connection");
                    }
                    if let Some(params) = seat.take_wish() {
                        self.set_params(params);
                    }
                }
                _ = tick.tick() => if let Some(end) = self.check_progress() { return end },
                _ = stopping.wait_for(|stopping| *stopping) => {
                    let reason = "the server ends".to_owned();
                    self.connection.outbox.text(&ServerMessage::Closing { reason }.encode());
                    return End::Close(1001, "the server ends");
                }
            }
        }
    }

    /// Renders and writes while there is credit and the socket takes it. Rendering allocates
    /// nothing; neither does sending.
    fn pump(&mut self) -> Result<Pause, End> {
        let mut rendered = 0;
        loop {
            while !self.connection.outbox.is_empty() {
                match self
                    .connection
                    .outbox
                    .write(&self.connection.socket, &self.feed)
                {
                    Ok(_) => self.blocked_since = None,
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                        self.blocked_since.get_or_insert_with(Instant::now);
                        return Ok(Pause::Blocked);
                    }
                    Err(error) => return Err(error.into()),
                }
            }
            if rendered > 0
                && let Some(hello_at) = self.hello_at.take()
            {
                self.shared.metrics.first_audio.note(hello_at.elapsed());
            }
            if rendered >= TURN {
                return Ok(Pause::Turn);
            }
            let Some(next) = self.feed.next_frame(&self.shared.metrics) else {
                if !self.feed.is_waiting()
                    && let Some(credit_at) = self.credit_at.take().filter(|_| rendered > 0)
                {
                    self.shared.metrics.answer.note(credit_at.elapsed());
                }
                return Ok(Pause::Idle);
            };
            // A boundary without samples is something, too.
            rendered += u64::from(next.head.frames).max(1);
            let [first, second] = self.feed.bytes(&next.payload);
            let bytes = first.len() + second.len();
            self.shared.metrics.frames.add(1);
            self.shared.metrics.bytes.add(bytes as u64);
            let sent = next.head.first + u64::from(next.head.frames);
            self.seat.sent.store(sent, Ordering::Relaxed);
            for message in [next.message, next.score].into_iter().flatten() {
                self.connection.outbox.text(&message.encode());
            }
            self.connection
                .outbox
                .audio(self.seat.stream, next.head, next.payload, bytes);
        }
    }

    /// Writes the rest of an audio frame that has begun.
    async fn finish_frame(&mut self) -> io::Result<()> {
        let Connection { socket, outbox, .. } = &mut self.connection;
        while outbox.is_inside_audio() {
            match outbox.write(socket, &self.feed) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    socket.writable().await?
                }
                written => written?,
            }
        }
        Ok(())
    }

    fn take_messages(&mut self) -> Result<(), End> {
        while let Some(text) = self.connection.message()? {
            match parse_client(&text) {
                Ok(ClientMessage::Credit(credit)) => self.credit(&credit)?,
                Ok(ClientMessage::Control(control)) => self.control(&control),
                Ok(ClientMessage::Ping { id }) => {
                    self.connection
                        .outbox
                        .text(&ServerMessage::Pong { id }.encode());
                }
                Ok(ClientMessage::Bye) => return Err(End::Bye),
                Ok(ClientMessage::Hello(_)) => self.complain(&ProtocolError::OutOfTurn {
                    what: "`hello` was said already; open another connection for another stream",
                }),
                Err(error) => self.complain(&error),
            }
            if self.connection.outbox.is_flooded() {
                return Err(End::Close(1008, "answers pile up"));
            }
        }
        Ok(())
    }

    fn complain(&mut self, error: &ProtocolError) {
        self.shared.metrics.violations.add(1);
        self.connection.refuse(&error.finding());
    }

    fn credit(&mut self, credit: &Credit) -> Result<(), End> {
        if let Feed::Own { stream, .. } = &mut self.feed
            && let Err(error) = stream.credit(credit)
        {
            self.complain(&error);
            return Err(End::Close(error.close_code(), "credit that cannot be"));
        }
        self.credit_at.get_or_insert_with(Instant::now);
        self.seat.depth.store(credit.depth, Ordering::Relaxed);
        self.seat
            .underruns
            .store(credit.underrun, Ordering::Relaxed);
        let [events, frames] = self.underruns;
        if credit.underrun > events {
            let (stream, depth) = (self.seat.stream, credit.depth);
            self.shared.events.tell(
                "underrun",
                || json!({ "stream": stream, "depth": depth, "events": credit.underrun }),
            );
        }
        let metrics = &self.shared.metrics;
        metrics
            .underruns
            .add(credit.underrun.saturating_sub(events));
        metrics
            .underrun_frames
            .add(credit.underrun_frames.saturating_sub(frames));
        self.underruns = [credit.underrun, credit.underrun_frames];
        Ok(())
    }

    fn control(&mut self, control: &Control) {
        if self.seat.shared
            && let Err(error) = self.shared.access.check_owner(control.owner.as_deref())
        {
            return self.complain(&error);
        }
        let current = match self.seat.shared {
            true => self.shared.broadcast.params(),
            false => self.seat.params(),
        };
        match api::wanted(
            &self.shared,
            &current,
            control.preset.as_deref(),
            &control.params,
        ) {
            Ok(params) if self.seat.shared => self.shared.broadcast.set_params(params),
            Ok(params) => self.set_params(params),
            Err(error) => self.complain(&error),
        }
    }

    fn set_params(&mut self, params: Params) {
        if let Some(message) = self.feed.set_params(params) {
            self.seat.note_params(params);
            self.connection.outbox.text(&message.encode());
        }
    }

    /// Pings the silent and gives up on those who take nothing.
    fn check_progress(&mut self) -> Option<End> {
        let silent = self.connection.heard.elapsed();
        let stalled = self
            .blocked_since
            .is_some_and(|since| since.elapsed() > STALL);
        if stalled || silent > SILENCE[1] {
            self.shared.metrics.slow.add(1);
            let finding = Finding::new("W010", Severity::Warning, "a slow client was closed");
            let stream = self.seat.stream;
            self.shared
                .events
                .tell("slow", || json!({ "stream": stream, "finding": finding }));
            return Some(End::Close(1013, "too slow"));
        }
        if silent > SILENCE[0] {
            self.connection.outbox.control(Opcode::Ping, b"");
        }
        None
    }
}
