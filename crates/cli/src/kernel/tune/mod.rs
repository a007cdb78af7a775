//! `warpsmith tune`: the tunables that make a user's own kernel fastest.

mod command;
mod journal;
mod one_size;
mod winners;

pub(crate) use command::Tune;
pub(crate) use winners::chosen;
