//! Who uses a card: what the kernel says about each open file of its driver (`/proc/PID/fdinfo`).
//!
//! Invariants: a client that several files share counts once; a counter that falls stays where it was,
//! as the kernel's description of the format asks of its readers; no look at all processes costs more
//! than its share, however many there are.

mod client;
mod scan;
mod usage;

pub use client::{Client, Engine};
pub(crate) use scan::Clients;
pub(crate) use usage::{Looked, Usage};
