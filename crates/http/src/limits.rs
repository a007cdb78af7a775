//! How much, how many and how long.

use std::time::Duration;

/// Limits that keep one client from taking the others' place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Open connections; when all are taken, one that waits for a request makes room.
    pub connections: usize,
    /// Connections of one address; loopback is not held to it.
    pub per_client: usize,
    /// Longest head of a request; 8 KiB at least.
    pub head_bytes: usize,
    /// Longest body; 0 where requests have none.
    pub body_bytes: usize,
    /// How long a head may take, and a new connection to begin with one.
    pub head: Duration,
    /// How long a body may take.
    pub body: Duration,
    /// How long a connection may be silent between two requests.
    pub idle: Duration,
    /// How long a client may take nothing of its answer.
    pub write: Duration,
}
