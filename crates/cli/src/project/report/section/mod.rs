//! The sections of a report: each makes blocks, findings and raw numbers from one job.

pub(super) mod baseline;
pub(super) mod check;
pub(super) mod corpus;
pub(super) mod latency;
pub(super) mod machine;
pub(super) mod method;
pub(super) mod music;
pub(super) mod parity;
pub(super) mod project;
pub(super) mod scaling;
pub(super) mod sound;
pub(super) mod techniques;
mod wav_sound;
