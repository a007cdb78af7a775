//! Bytes on their way to a socket that takes as much as it likes.
//!
//! Invariants: a frame that has begun is finished before anything else is written; at most one
//! audio frame is held, by position, so a client that reads nothing costs nothing.

use std::io::{self, IoSlice};

use tokio::net::TcpStream;
use warpsmith_http::websocket::{MOST_HEAD, Opcode, close_frame, frame_head, plain_frame};

use super::feed::{Feed, Payload};
use crate::protocol::{FrameHead, HEAD_BYTES};

/// Control frames and messages that may wait; a client that makes more of them is closed.
const MOST_WAITING_BYTES: usize = 64 << 10;

/// What is to be written.
pub(super) struct Outbox {
    /// Text and control frames, whole.
    small: Vec<u8>,
    /// Heads of the audio frame that is being written.
    head: [u8; MOST_HEAD + HEAD_BYTES],
    head_bytes: usize,
    payload: Payload,
    /// Bytes of the frame, heads and payload.
    total: usize,
    /// Bytes of it that are written.
    written: usize,
    sequence: u32,
}

impl Outbox {
    pub(super) fn new() -> Self {
        Self {
            small: Vec::new(),
            head: [0; MOST_HEAD + HEAD_BYTES],
            head_bytes: 0,
            payload: Payload::Nothing,
            total: 0,
            written: 0,
            sequence: 0,
        }
    }

    pub(super) fn text(&mut self, text: &str) {
        plain_frame(Opcode::Text, text.as_bytes(), &mut self.small);
    }

    pub(super) fn control(&mut self, opcode: Opcode, payload: &[u8]) {
        plain_frame(opcode, payload, &mut self.small);
    }

    pub(super) fn close(&mut self, code: u16, reason: &str) {
        close_frame(code, reason, &mut self.small);
    }

    /// Whether the client makes more answers than it reads.
    pub(super) fn is_flooded(&self) -> bool {
        self.small.len() > MOST_WAITING_BYTES
    }

    pub(super) fn is_empty(&self) -> bool {
        self.written == self.total && self.small.is_empty()
    }

    /// Takes an audio frame; there must be none under way.
    pub(super) fn audio(&mut self, stream: u32, head: FrameHead, payload: Payload, bytes: usize) {
        let head = FrameHead {
            stream,
            sequence: self.sequence,
            ..head
        };
        self.sequence = self.sequence.wrapping_add(1);
        let mut outer = [0; MOST_HEAD];
        let outer_bytes = frame_head(Opcode::Binary, HEAD_BYTES + bytes, &mut outer);
        self.head[..outer_bytes].copy_from_slice(&outer[..outer_bytes]);
        self.head[outer_bytes..outer_bytes + HEAD_BYTES].copy_from_slice(&head.encode());
        self.head_bytes = outer_bytes + HEAD_BYTES;
        self.payload = payload;
        self.total = self.head_bytes + bytes;
        self.written = 0;
    }

    /// Whether part of an audio frame is out, so that nothing else can follow.
    pub(super) fn is_inside_audio(&self) -> bool {
        (1..self.total).contains(&self.written)
    }

    /// Gives up an audio frame that is under way; whether part of it is out.
    pub(super) fn abandon_audio(&mut self) -> bool {
        let begun = self.is_inside_audio();
        self.payload = Payload::Nothing;
        self.total = self.written;
        begun
    }

    /// Writes what the socket takes now of text and control frames.
    pub(super) fn write_small(&mut self, socket: &TcpStream) -> io::Result<()> {
        let count = socket.try_write(&self.small)?;
        self.small.drain(..count);
        Ok(())
    }

    /// Writes what the socket takes now.
    pub(super) fn write(&mut self, socket: &TcpStream, feed: &Feed) -> io::Result<()> {
        if self.written == self.total {
            return self.write_small(socket);
        }
        let [first, second] = feed.bytes(&self.payload);
        let mut pieces = [
            IoSlice::new(&self.head[..self.head_bytes]),
            IoSlice::new(first),
            IoSlice::new(second),
        ];
        let mut pieces = &mut pieces[..];
        IoSlice::advance_slices(&mut pieces, self.written);
        let count = socket.try_write_vectored(pieces)?;
        self.written += count;
        if self.written == self.total {
            self.payload = Payload::Nothing;
        }
        Ok(())
    }
}
