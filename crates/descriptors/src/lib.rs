//! What a whole recording is like, computed from the operations of `warpsmith-voice`: tempo and
//! beats, harmonic and percussive parts, key, speech cut for a recogniser, changes of speaker, how a voice
//! sounds, a voice in 88 numbers, a recording at a glance, and pictures.
//!
//! Functions take a signal that fits in memory, and settings that they check before they take any. Those whose names
//! end in `_of` hear a recording of any length piece by piece, as often as they need.

pub mod egemaps;
pub mod key;
pub mod overview;
pub mod picture;
pub mod quality;
pub mod rhythm;
pub mod separation;
pub mod speech;
pub mod turns;
