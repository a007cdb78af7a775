//! One file per section: what is run, and the facts that it leaves.

pub(super) mod corpus;
pub(super) mod environment;
mod glide;
pub(super) mod ladder;
pub(super) mod latency;
pub(super) mod leak;
pub(super) mod matrix;
mod music;
pub(super) mod noise;
pub(super) mod numbers;
pub(super) mod parity;
pub(super) mod project;
pub(super) mod rest;
mod sample;
pub(super) mod sound;
pub(super) mod subject;
pub(super) mod sweeps;
mod wav_sound;
