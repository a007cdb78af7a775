//! RFC 6455 without sockets: bytes in, messages out, and the other way round.

mod decoder;
mod encoder;
mod handshake;

pub(crate) use decoder::{Decoder, Incoming, Role, Violation};
pub(crate) use encoder::{Opcode, close_frame, frame_head, masked_frame, plain_frame};
pub(crate) use handshake::accept_key;
