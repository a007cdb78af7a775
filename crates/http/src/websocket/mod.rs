//! RFC 6455 without sockets: bytes in, messages out, and the other way round.

mod decoder;
mod encoder;
mod handshake;

pub use decoder::{Decoder, Incoming, Role, Violation, decode};
pub use encoder::{MOST_HEAD, Opcode, close_frame, frame_head, masked_frame, plain_frame};
pub use handshake::accept_key;
