//! What listeners hear, before it meets a socket.

mod broadcast;
mod desk;
mod own_stream;
mod packets;
mod parking;
mod sample_ring;

pub(crate) use broadcast::{BLOCK as BROADCAST_BLOCK, Block, Broadcast, RATE as BROADCAST_RATE};
pub(crate) use desk::Desk;
pub(crate) use own_stream::OwnStream;
pub(crate) use parking::Parking;
