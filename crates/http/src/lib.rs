//! One HTTP/1.1 layer for everything here that listens, and for what reads from those that do: hyper
//! parses and frames, and above it stand our limits, deadlines and access rules. What a path answers is
//! the application's.
//!
//! Invariants: no connection waits without a deadline, for a head, a body, a next request or a
//! client that reads; what is read for a request is bounded; what cannot be told apart from an
//! attack on a proxy (two hosts, lengths that are no numbers) is refused before the application
//! sees it; a stop ends idle connections at once and lets answers finish.

pub mod access;
mod answer;
mod background;
pub mod client;
mod connection;
mod doors;
pub mod grpc;
mod guarded;
mod handshake;
mod host;
mod limits;
mod listen;
mod refusal;
mod request;
pub mod websocket;

pub use answer::{Answer, Application, Handler, Reply};
pub use background::{Background, blocking};
pub use connection::write_within;
pub use doors::{Doors, Full};
pub use hyper::body::Bytes;
pub use limits::Limits;
pub use listen::{Listening, TlsSource, accept};
pub use refusal::Refusal;
pub use request::Request;
