//! A listener of the load test: connects, says hello, plays by the clock, and counts.

use std::cell::RefCell;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};
use warpsmith_http::websocket::{Decoder, Incoming, Opcode, Role, masked_frame};
use warpsmith_synth::{Stream, StreamSettings};

use super::figures::{Figures, Spread};
use crate::error::ServeError;
use crate::process;
use crate::protocol::{
    ClientMessage, Codec, Continuity, Credit, FrameHead, Hello, Kind, SUBPROTOCOL, ServerMessage,
    Welcome,
};
use crate::server::runtime;

/// Failures that are told.
const TOLD: usize = 5;
/// Steps of 16 bits that a stream whose voices a GPU renders may be away from the CPU's: sums that
/// are rounded elsewhere.
const ELSEWHERE: u32 = 1;
/// How long a connection may take to give its first sound.
const PATIENCE: Duration = Duration::from_secs(30);

/// What to test.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Plan {
    /// The server.
    pub address: SocketAddr,
    /// Its token; not repeated in reports.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// Listeners.
    pub clients: usize,
    /// How long each plays.
    pub seconds: f64,
    /// Time over which they arrive.
    pub ramp_seconds: f64,
    /// How many times as fast as a sound card they play.
    pub speed: f64,
    /// What they ask for; each gets a seed of its own.
    pub hello: Hello,
    /// How many of them render their stream a second time and compare it.
    pub compared: usize,
    /// Threads of the listeners; one for each core where it is 0.
    pub threads: usize,
}

/// Runs the listeners; gives up on nothing but the whole.
pub fn run(plan: &Plan) -> Result<Figures, ServeError> {
    process::allow_many_files();
    let failed = |error: io::Error| ServeError::LoadTest {
        why: error.to_string(),
    };
    let runtime = runtime(plan.threads, "load-test").map_err(failed)?;
    let cpu_before = process::cpu_time();
    let mut figures = runtime.block_on(listeners(Arc::new(plan.clone())));
    figures.client_cpu_seconds = (process::cpu_time() - cpu_before).as_secs_f64();
    Ok(figures)
}

async fn listeners(plan: Arc<Plan>) -> Figures {
    let mut figures = Figures {
        clients: plan.clients,
        seconds: plan.seconds,
        speed: plan.speed,
        compared_streams: match plan.hello.codec() {
            Some(Codec::Pcm16) => plan.compared.min(plan.clients),
            _ => 0,
        },
        ..Figures::default()
    };
    let begun = Instant::now();
    let step = plan.ramp_seconds / plan.clients.max(1) as f64;
    let mut running = JoinSet::new();
    for nth in 0..plan.clients {
        let plan = Arc::clone(&plan);
        running.spawn(async move {
            sleep_until(begun + Duration::from_secs_f64(step * nth as f64)).await;
            listen(nth, &plan).await
        });
    }
    let [mut lateness, mut jitter, mut connected, mut first] = [const { Vec::new() }; 4];
    while let Some(ended) = running.join_next().await {
        let seen = match ended {
            Ok(Ok(seen)) => seen,
            Ok(Err(error)) => {
                figures.failures.push(error.to_string());
                figures.failures.truncate(TOLD);
                continue;
            }
            Err(error) => {
                figures.failures.push(error.to_string());
                continue;
            }
        };
        figures.played_to_the_end += 1;
        figures.add(&seen.continuity);
        figures.bytes += seen.bytes;
        figures.underruns += seen.underruns;
        figures.underrun_samples += seen.underrun_samples;
        figures.wrong_samples += seen.wrong_samples;
        lateness.extend(seen.lateness);
        jitter.extend(seen.jitter);
        connected.push(seen.connected.as_secs_f32());
        first.push(seen.first_byte.as_secs_f32());
    }
    figures.lateness_ms = Spread::of(lateness);
    figures.jitter_ms = Spread::of(jitter);
    figures.connect_to_audio_ms = Spread::of(connected);
    figures.first_byte_ms = Spread::of(first);
    figures
}

/// What one listener saw.
#[derive(Default)]
struct Seen {
    continuity: Continuity,
    bytes: u64,
    underruns: u64,
    underrun_samples: u64,
    wrong_samples: u64,
    lateness: Vec<f32>,
    jitter: Vec<f32>,
    connected: Duration,
    first_byte: Duration,
}

/// A connection that can send and receive messages.
struct Connection {
    socket: TcpStream,
    decoder: Decoder,
}

thread_local! {
    /// One for each thread, not for each listener.
    static BUFFER: RefCell<Vec<u8>> = RefCell::new(vec![0; 64 << 10]);
}

impl Connection {
    async fn open(plan: &Plan) -> io::Result<Self> {
        let mut socket = TcpStream::connect(plan.address).await?;
        socket.set_nodelay(true)?;
        let authorization = match &plan.token {
            Some(token) => format!("Authorization: Bearer {token}\r\n"),
            None => String::new(),
        };
        let request = format!(
            "GET /ws HTTP/1.1\r\nHost: {}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
             Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\
             Sec-WebSocket-Protocol: {SUBPROTOCOL}\r\n{authorization}\r\n",
            plan.address
        );
        socket.write_all(request.as_bytes()).await?;
        // Nothing follows the answer before we say hello.
        let mut answer = Vec::new();
        while !answer.ends_with(b"\r\n\r\n") {
            if tokio::io::AsyncReadExt::read_buf(&mut socket, &mut answer).await? == 0 {
                break;
            }
        }
        if !answer.starts_with(b"HTTP/1.1 101 ") {
            let answer = String::from_utf8_lossy(&answer)
                .chars()
                .take(200)
                .collect::<String>();
            return Err(io::Error::other(format!("no WebSocket: {answer}")));
        }
        Ok(Self {
            socket,
            // Two seconds of 192 kHz in floats.
            decoder: Decoder::new(Role::Client, 4 << 20),
        })
    }

    async fn say(&mut self, message: &ClientMessage) -> io::Result<()> {
        let text = serde_json::to_string(message)?;
        let mut frame = Vec::with_capacity(text.len() + 14);
        masked_frame(Opcode::Text, text.as_bytes(), [0x5a, 1, 2, 3], &mut frame);
        self.socket.write_all(&frame).await
    }

    /// Takes what has arrived; gives the bytes.
    fn read(&mut self) -> io::Result<usize> {
        let taken = BUFFER.with_borrow_mut(|buffer| {
            let count = self.socket.try_read(buffer)?;
            self.decoder.push(&buffer[..count]);
            Ok(count)
        });
        match taken {
            Ok(0) => Err(io::Error::other("the server closed the connection")),
            Err(error) if io::Error::kind(&error) == io::ErrorKind::WouldBlock => Ok(0),
            other => other,
        }
    }
}

/// The sound card: a clock that takes samples.
struct Card {
    rate: f64,
    frame: u64,
    /// When the first sample was played.
    start: Instant,
    /// Frames played.
    ticks: u64,
}

impl Card {
    fn tick_at(&self, tick: u64) -> Instant {
        self.start + Duration::from_secs_f64((tick * self.frame) as f64 / self.rate)
    }
}

async fn listen(nth: usize, plan: &Plan) -> io::Result<Seen> {
    let begun = Instant::now();
    let mut connection = Connection::open(plan).await?;
    let hello = Hello {
        seed: Some(nth as u64 + 1),
        ..plan.hello.clone()
    };
    let hello_at = Instant::now();
    connection
        .say(&ClientMessage::Hello(Box::new(hello)))
        .await?;
    let mut listener = Listening {
        seen: Seen::default(),
        welcome: None,
        again: None,
        apart: 0,
        last_arrival: None,
        card: None,
        compare: nth < plan.compared,
        speed: plan.speed,
    };
    loop {
        let wake = match &listener.card {
            None => hello_at + PATIENCE,
            Some(card) => card.tick_at(card.ticks + 1),
        };
        tokio::select! {
            ready = connection.socket.readable() => {
                ready?;
                let arrived = Instant::now();
                listener.seen.bytes += connection.read()? as u64;
                let first = listener.seen.continuity.frames == 0;
                while let Some(message) = connection.decoder.next_message().map_err(|violation| io::Error::other(violation.what))? {
                    listener.take(message, arrived)?;
                }
                if first && listener.seen.continuity.frames > 0 {
                    listener.seen.first_byte = arrived - hello_at;
                    listener.seen.connected = arrived - begun;
                }
            }
            () = sleep_until(wake) => {
                let Some(credit) = listener.tick() else {
                    return Err(io::Error::other("no sound in time"));
                };
                connection.say(&ClientMessage::Credit(credit)).await?;
                let card = listener.card.as_ref().ok_or(io::ErrorKind::InvalidData)?;
                if card.start.elapsed().as_secs_f64() >= plan.seconds {
                    connection.say(&ClientMessage::Bye).await?;
                    return Ok(listener.seen);
                }
            }
        }
    }
}

/// A listener's state.
struct Listening {
    seen: Seen,
    welcome: Option<Box<Welcome>>,
    /// The same music, rendered here.
    again: Option<(Stream, Vec<i16>)>,
    /// How far its samples may be from those that arrive.
    apart: u32,
    last_arrival: Option<Instant>,
    card: Option<Card>,
    compare: bool,
    speed: f64,
}

impl Listening {
    fn take(&mut self, message: Incoming, arrived: Instant) -> io::Result<()> {
        match message {
            Incoming::Binary(frame) => {
                let (head, payload) = FrameHead::parse(&frame).map_err(io::Error::other)?;
                self.seen.continuity.take(&head, payload);
                if head.kind == Kind::Audio {
                    self.audio(&head, payload, arrived);
                }
                Ok(())
            }
            Incoming::Text(text) => match serde_json::from_str(&text)? {
                ServerMessage::Welcome(welcome) => self.welcomed(welcome),
                ServerMessage::Error { finding } => Err(io::Error::other(finding.to_string())),
                _ => Ok(()),
            },
            Incoming::Close(code) => Err(io::Error::other(format!("closed with {code}"))),
            Incoming::Ping(_) | Incoming::Pong => Ok(()),
        }
    }

    fn welcomed(&mut self, welcome: Box<Welcome>) -> io::Result<()> {
        if self.compare && welcome.codec == "pcm16" {
            let settings = StreamSettings {
                sample_rate: welcome.rate,
                ..StreamSettings::default()
            };
            let stream = Stream::with_settings(welcome.seed, welcome.params, settings);
            let block = vec![0; 2 * welcome.frame as usize];
            self.again = Some((stream.map_err(io::Error::other)?, block));
            self.apart = if welcome.device.starts_with("cpu") {
                0
            } else {
                ELSEWHERE
            };
        }
        self.welcome = Some(welcome);
        Ok(())
    }

    fn audio(&mut self, head: &FrameHead, payload: &[u8], arrived: Instant) {
        if let Some((stream, block)) = &mut self.again {
            stream.render_into(block);
            let heard = payload
                .chunks_exact(2)
                .map(|bytes| i16::from_le_bytes([bytes[0], bytes[1]]));
            let wrong = block
                .iter()
                .zip(heard)
                .filter(|(a, b)| i32::from(**a).abs_diff(i32::from(*b)) > self.apart);
            self.seen.wrong_samples += wrong.count() as u64;
        }
        let end = head.first + u64::from(head.frames);
        let Some(welcome) = &self.welcome else { return };
        match &self.card {
            // The buffer is full: play.
            None if end >= welcome.target => {
                self.card = Some(Card {
                    rate: f64::from(welcome.rate) * self.speed,
                    frame: welcome.frame.into(),
                    start: arrived,
                    ticks: 0,
                });
            }
            None => {}
            Some(card) => {
                // This frame was requested by the tick that made room for it.
                let tick = (end - welcome.target) / card.frame;
                let late = arrived.saturating_duration_since(card.tick_at(tick));
                self.seen.lateness.push(late.as_secs_f32());
                if let Some(last) = self.last_arrival {
                    let length = card.frame as f64 / card.rate;
                    let distance = (arrived - last).as_secs_f64();
                    self.seen.jitter.push((distance - length).abs() as f32);
                }
                self.last_arrival = Some(arrived);
            }
        }
    }

    /// Plays a frame; absent before there is one.
    fn tick(&mut self) -> Option<Credit> {
        let card = self.card.as_mut()?;
        let received = self.seen.continuity.next.unwrap_or(0);
        let played = (card.ticks + 1) * card.frame;
        if played > received {
            // Nothing to play: silence for a frame, and the clock goes on.
            self.seen.underruns += 1;
            self.seen.underrun_samples += played - received;
            card.start += Duration::from_secs_f64(card.frame as f64 / card.rate);
        } else {
            card.ticks += 1;
        }
        let played = card.ticks * card.frame;
        Some(Credit {
            played,
            depth: received - played.min(received),
            underrun: self.seen.underruns,
            underrun_frames: self.seen.underrun_samples,
            target_ms: None,
        })
    }
}
