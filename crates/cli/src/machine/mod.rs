//! Verbs about the machine: its devices, its health, what it did and how fast it is.

pub(crate) mod baseline;
pub(crate) mod check;
pub(crate) mod clock_guard;
pub(crate) mod devices;
pub(crate) mod export;
pub(crate) mod fleet;
pub(crate) mod health;
pub(crate) mod record;
pub(crate) mod replay;
mod sampling;
pub(crate) mod watch;
pub(crate) mod wisdom;
