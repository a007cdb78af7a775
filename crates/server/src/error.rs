//! What can be wrong with a request, a message or a start, and the findings that say so.

use std::io;
use std::net::SocketAddr;

use thiserror::Error;
use warpsmith_core::{CodeDoc, Finding, Severity};
use warpsmith_device::DeviceError;
use warpsmith_synth::{EngineLost, ParamError};

/// What a client said that cannot be done.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum ProtocolError {
    /// JSON of another shape.
    #[error("the message is not understood: {what}")]
    Message {
        /// What the reader said.
        what: String,
    },
    /// A binary frame of another shape.
    #[error("the binary frame is {what}")]
    Frame {
        /// What is wrong.
        what: String,
    },
    /// More bytes than anybody needs.
    #[error("the message is longer than {most} bytes")]
    TooLong {
        /// The limit.
        most: usize,
    },
    /// A number outside its range.
    #[error("`{name}` is {given}, outside {least} to {most}")]
    OutOfRange {
        /// The field.
        name: &'static str,
        /// What was given.
        given: u32,
        /// Least value.
        least: u32,
        /// Greatest value.
        most: u32,
    },
    /// None of the listener's codecs is known.
    #[error("none of these codecs is here; there are pcm16, f32 and tag")]
    NoCodec,
    /// A message at the wrong time.
    #[error("{what}")]
    OutOfTurn {
        /// Which, and what was expected.
        what: &'static str,
    },
    /// More was played than was sent, or less than before.
    #[error("credit for {played} samples, but {before} were played before and {sent} were sent")]
    Credit {
        /// What was claimed.
        played: u64,
        /// The last claim.
        before: u64,
        /// What was sent.
        sent: u64,
    },
    /// Too many messages.
    #[error("more than {most} messages a second")]
    TooMany {
        /// The limit.
        most: u32,
    },
    /// A stream that is not there any more.
    #[error("stream {stream} cannot be resumed at {next_sample}: {why}")]
    Gone {
        /// The stream.
        stream: u32,
        /// The position asked for.
        next_sample: u64,
        /// Why.
        why: &'static str,
    },
    /// A music parameter.
    #[error(transparent)]
    Params(#[from] ParamError),
}

impl ProtocolError {
    /// The same as a finding.
    pub fn finding(&self) -> Finding {
        let new = |code| Finding::new(code, Severity::Error, self.to_string());
        match self {
            Self::Message { .. } | Self::Frame { .. } => new("W001"),
            Self::TooLong { .. } => new("W002"),
            Self::OutOfRange { least, most, .. } => {
                new("W003").hint(format!("give a number from {least} to {most}"))
            }
            Self::NoCodec => new("W003").hint("offer pcm16"),
            Self::OutOfTurn { .. } => new("W004"),
            Self::Credit { .. } => new("W005"),
            Self::TooMany { .. } => new("W006"),
            Self::Gone { .. } => new("W007").hint("say hello without `resume`"),
            Self::Params(error) => error.finding(),
        }
    }

    /// The WebSocket's closing code where the connection cannot go on.
    pub(crate) fn close_code(&self) -> u16 {
        match self {
            Self::TooLong { .. } => 1009,
            Self::TooMany { .. } | Self::Credit { .. } => 1008,
            _ => 1002,
        }
    }
}

/// Why the server cannot start or go on.
#[derive(Debug, Error)]
pub enum ServeError {
    /// The address cannot be had.
    #[error(
        "cannot listen on {address} (hint: `--listen` chooses another address, port 0 any port)"
    )]
    Listen {
        /// The address asked for.
        address: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
    /// Everybody could listen and control.
    #[error(
        "{address} can be reached from other machines, and there is no token (hint: put one into \
         the variable WARPSMITH_TOKEN, or listen on 127.0.0.1)"
    )]
    Open {
        /// The address asked for.
        address: SocketAddr,
    },
    /// A token that does not fit into a header or a subprotocol.
    #[error("the token needs 16 to 128 characters of A-Z, a-z, 0-9, `-`, `_` and `.`")]
    Token,
    /// No threads.
    #[error("cannot start the server's threads")]
    Threads {
        /// What the system said.
        source: io::Error,
    },
    /// The device that should render cannot be used.
    #[error("cannot render on the device that was asked for")]
    Device {
        /// What was wrong with it.
        source: DeviceError,
    },
    /// The device renders, but not what the CPU does.
    #[error("the GPU cannot be trusted with music (hint: `--device cpu` does without it)")]
    Engine {
        /// What it did.
        source: EngineLost,
    },
    /// Parameters that no stream takes.
    #[error(transparent)]
    Params(#[from] ParamError),
    /// A load test whose clients never got to play.
    #[error("the load test failed: {why}")]
    LoadTest {
        /// What happened.
        why: String,
    },
}

/// Explanations of the server's findings.
pub const CODES: &[CodeDoc] = &[
    CodeDoc {
        code: "W001",
        title: "a message to the server is not understood",
        explanation: "Text frames are JSON objects with a `type` of hello, credit, control, ping \
            or bye; bodies of requests are JSON too. Unknown fields are refused, so that a typing \
            error does not pass for a wish.",
        fix: "Compare the message with the protocol; the finding quotes what could not be read.",
    },
    CodeDoc {
        code: "W002",
        title: "a message to the server is too long",
        explanation: "A text frame may have 16 KiB, a request's body 64 KiB. Nothing that a \
            listener has to say is longer, and the memory belongs to the others.",
        fix: "Send less at once.",
    },
    CodeDoc {
        code: "W003",
        title: "a stream was asked for that the server does not make",
        explanation: "Streams have two channels, 8 to 192 kHz, frames of 5 to 200 ms, 20 to \
            2000 ms sent ahead, and samples as pcm16, f32 or tag.",
        fix: "Ask for something inside the range that the message names.",
    },
    CodeDoc {
        code: "W004",
        title: "a message came out of turn",
        explanation: "A connection begins with hello, says it once, and within ten seconds.",
        fix: "Send hello first; open another connection for another stream.",
    },
    CodeDoc {
        code: "W005",
        title: "a listener claims to have played what was never sent",
        explanation: "Credits are the listener's count of played samples. They never fall, and \
            never exceed what was sent; a client that breaks this counts wrongly, and would make \
            the server render without end.",
        fix: "Count samples taken out of the buffer, without silence put in for missing ones.",
    },
    CodeDoc {
        code: "W006",
        title: "a client sends too many messages",
        explanation: "Each connection has a budget of messages a second, several times what a \
            player needs, so that no client takes the others' time.",
        fix: "Send credits every 100 to 200 ms and parameters when they change.",
    },
    CodeDoc {
        code: "W007",
        title: "a stream cannot be resumed",
        explanation: "After a break a stream is kept for 30 seconds, with the samples that were \
            sent and not played. Later, or with another rate, codec or key, there is nothing to \
            go on with.",
        fix: "Begin a new stream with the seed of the old one.",
    },
    CodeDoc {
        code: "W008",
        title: "a request without the right to be answered",
        explanation: "Beyond loopback every request needs the token, and pages of other origins \
            may not connect: a browser would otherwise let any page that the user visits play \
            with this server. On loopback the name in `Host` must be a name of this machine.",
        fix: "Send `Authorization: Bearer TOKEN`, or name the page's origin with `--allow-origin`.",
    },
    CodeDoc {
        code: "W009",
        title: "the server is full",
        explanation: "Connections, listeners, and listeners of one address are limited, so that \
            those who are being served stay served.",
        fix: "Come back later, or raise `--max-listeners` or `--per-client` if the machine has room.",
    },
    CodeDoc {
        code: "W010",
        title: "a slow client was closed",
        explanation: "The client took nothing for five seconds while audio waited for it, or \
            answered no ping. It costs the others nothing, but its memory is better used.",
        fix: "Reconnect with `resume`; if it happens again, ask for a lower rate.",
    },
    CodeDoc {
        code: "W011",
        title: "there is nothing at this address",
        explanation: "The path, the method or the named preset or stream does not exist here.",
        fix: "`GET /api/status` lists what there is.",
    },
    CodeDoc {
        code: "W012",
        title: "listeners heard a gap during the load test",
        explanation: "A simulated listener had nothing to play, or positions, sequence numbers or \
            samples did not follow each other. The machine was too slow for that many listeners, \
            or there is a fault.",
        fix: "Use longer frames or fewer listeners; run it on an idle machine to tell the two apart.",
    },
];
