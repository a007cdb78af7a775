//! `warpsmith-v1`: what listener and server say to each other. Text frames are JSON, binary frames
//! are a head of 32 bytes and samples.

mod continuity;
mod head;
mod message;

pub use continuity::Continuity;
pub use head::{Codec, FrameHead, HEAD_BYTES, Kind, flags, tag_of, tagged};
pub(crate) use message::built_in;
pub use message::{
    ClientMessage, Control, Credit, Hello, Resume, ServerMessage, Welcome, merged, parse_client,
};

/// The name of the protocol, as a WebSocket subprotocol.
pub const SUBPROTOCOL: &str = "warpsmith-v1";
/// Longest text frame that a client may send.
pub const MOST_TEXT_BYTES: usize = 16 << 10;
/// Longest and shortest audio frame, in milliseconds.
pub const FRAME_MS: std::ops::RangeInclusive<u32> = 5..=200;
/// Smallest and largest buffer that a listener may ask for, in milliseconds.
pub const BUFFER_MS: std::ops::RangeInclusive<u32> = 20..=2_000;
