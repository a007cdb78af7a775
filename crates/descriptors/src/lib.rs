//! What a whole recording is like, computed from the operations of `warpsmith-voice`: tempo and
//! beats, harmonic and percussive parts, key, speech cut for a recogniser, changes of speaker, how a voice
//! sounds, a voice in 88 numbers, a recording at a glance, and pictures.
//!
//! Every function takes a signal that fits in memory and settings that it checks before it takes any.

pub mod egemaps;
pub mod key;
pub mod overview;
pub mod picture;
pub mod quality;
pub mod rhythm;
pub mod separation;
pub mod speech;
pub mod turns;
