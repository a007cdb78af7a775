//! Music for many listeners: each hears a stream of its own, or all hear the broadcast, over
//! WebSocket; a page to listen with; an API, metrics and events beside it.
//!
//! Threads of a small runtime own the sockets and render what their listener has room for, straight
//! into the ring that the socket is written from. Nothing is rendered that was not requested, so a
//! slow listener costs nothing, and no listener waits for another.

mod access;
#[cfg(test)]
mod allocations;
mod api;
mod audio;
mod error;
mod event_stream;
mod events;
mod histogram;
mod housekeeping;
pub mod load_test;
mod metrics;
mod page;
mod presets;
pub mod process;
pub mod protocol;
mod response;
mod seats;
mod secret;
mod server;
mod session;
mod wav;

pub use access::Limits;
pub use error::{FAMILY, ProtocolError, ServeError};
pub use server::{Server, Settings};
