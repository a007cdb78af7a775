//! `warpsmith tune`: the tunables that make a user's own kernel fastest.

mod command;
mod journal;

pub(crate) use command::Tune;
