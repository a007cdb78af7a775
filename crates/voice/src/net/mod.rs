//! Pitch, voicing and speech by a small network of our own, for sounds as loud as their noise.
//!
//! Trackers that follow one rule lose a voice in noise, because which of many weak hints to believe
//! depends on the noise. A network learns it. It was trained on sounds that `made_up_speech.py` and
//! espeak-ng make, whose truth is known, and on no recording; `train.py` says how, `weights.f16` is what
//! came of it.
//!
//! A frame is seen as a table of pitches: how the spectrum stands out at the harmonics of each, and how
//! the sound repeats itself after its period, in a long window and in a short one. So a pitch and its
//! octave look different at their own place, and layers that look at a few neighbouring pitches and
//! frames suffice. `path.rs` then goes through neighbouring frames.

mod cuda;
mod front;
mod layers;
mod over_time;
mod path;
mod tables;
mod track;
mod voicing;
mod weights;
mod workload;

pub use cuda::{net_on_cuda, net_vad_on_cuda};
pub use track::{NetPitch, NetTrack, NetVad};
pub(crate) use workload::NET;
