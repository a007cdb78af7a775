//! What can be wrong with a request, a message or a start, and the findings that say so.

use std::io;
use std::net::SocketAddr;

use thiserror::Error;
use warpsmith_core::{Family, Finding, Severity};
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
        /// The position requested.
        next_sample: u64,
        /// Why.
        why: &'static str,
    },
    /// Steers what everybody hears, and is not its owner.
    #[error("the broadcast is steered by its owner")]
    NotOwner {
        /// What the owner does.
        hint: &'static str,
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
            Self::NotOwner { hint } => new("W008").hint(*hint),
            Self::Params(error) => error.finding(),
        }
    }

    /// The status of an answer that says it.
    pub(crate) fn status(&self) -> u16 {
        match self {
            Self::NotOwner { .. } => 403,
            _ => 400,
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
        /// The address requested.
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
        /// The address requested.
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
    #[error("cannot render on the requested device")]
    Device {
        /// What was wrong with it.
        source: DeviceError,
    },
    /// The device renders, but not what the CPU does.
    #[error("the GPU's audio differs from the CPU's (hint: use `--device cpu`)")]
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

/// What each code of the server means.
pub static FAMILY: Family = Family::new(include_str!("stories/W.md"));
