//! Ambient music from a seed, endless and different for every listener.
//!
//! [`compose`] draws chords, melody and percussion; [`sound`] says what each voice sounds like;
//! `effects` puts them into a room; [`Stream`] is all of it for one listener, block by block without
//! allocating. [`Phrase`] is a fixed list of notes, rendered as a whole by any engine; [`reference`]
//! is the same in double precision, short and obvious: the specification of both engines.
//!
//! Invariant: the kernels of `sound` and the composer are pure functions of notes and positions;
//! the same seed gives the same bytes.

pub mod compose;
mod effects;
mod engine;
mod error;
mod fixed_list;
pub mod matrix;
pub mod midi_file;
mod note;
mod params;
mod phrase;
pub mod preset_file;
pub mod quality;
pub mod reference;
pub mod sound;
mod stream;
mod voices;
mod workload;

pub use compose::composer::{COMPOSITION_VERSION, Composer, compose, compose_with};
pub use compose::scale::Scale;
pub use engine::blocks::{BlockSettings, Blocks};
pub use engine::dry_voices::{CpuVoices, CudaVoices, DryEngine, DryRequest, EngineLost, prove};
pub use error::{FAMILY, ParamError, gpu_lost};
pub use note::{Formulas, Note, Voice};
pub use params::{Instruments, Key, Mode, Params, Parts, Patch, Preset};
pub use phrase::{Phrase, PhraseRenderer};
pub use sound::oscillator::Saw;
pub use sound::technique::{Arithmetic, Average, EnvelopeRate, Techniques};
pub use stream::{Sample, Snapshot, Stream, StreamSettings};
pub use warpsmith_lanes::InstructionSet;
pub use workload::workloads;
