//! The server through its sockets: the protocol as somebody else's WebSocket speaks it, files and
//! API, and clients that misbehave while others listen.

mod chaos;
mod files;
mod listener;
mod load;
mod protocol;
mod requests;

use warpsmith_server::{Limits, Server, Settings};

/// A server on a port of its own, for listeners that play as fast as they can.
pub(crate) fn server() -> Server {
    let limits = Limits {
        messages_per_second: 1_000_000,
        ..Limits::default()
    };
    server_with(Settings {
        limits,
        ..Settings::default()
    })
}

pub(crate) fn server_with(settings: Settings) -> Server {
    let listen = ([127, 0, 0, 1], 0).into();
    Server::start(Settings { listen, ..settings }).unwrap()
}
