//! `warpsmith compare`: which of two is faster, and whether two baselines differ.

mod baselines;
mod command;

pub(crate) use command::Compare;
