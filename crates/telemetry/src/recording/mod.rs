//! Recordings: events kept in a compressed, seekable file, and given back exactly.
//!
//! A file is a header (magic, version, inventory as JSON), blocks of about a second each
//! (columns of differences, deflated, with a checksum), an index and a footer. A file whose end is
//! missing (a full disk, a killed process) is read as far as its last whole block, and a damaged block
//! costs itself alone.

mod block;
mod column;
mod error;
mod layout;
mod reader;
mod writer;

pub use error::RecordingError;
pub use reader::{Events, Recording};
pub use writer::RecordingWriter;
