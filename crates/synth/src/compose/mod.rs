//! Music from a seed: chords, melody and percussion, a bar at a time, for as long as one listens.

pub mod composer;
pub(crate) mod harmony;
pub(crate) mod melody;
pub(crate) mod percussion;
