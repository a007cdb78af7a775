//! Signals: audio files, frames and their transforms, filters, rates, levels, effects.
//!
//! Plans own tables and scratch memory, callers own results: plan once, process often. A frame's
//! bits depend on its samples alone, never on block size, chunking or thread.

mod audio;
mod convolution;
mod delta;
pub mod effect;
mod error;
mod filter;
mod fourier;
mod frame;
mod interrupt;
mod kept;
mod large;
mod level;
mod linear_prediction;
mod loudness;
mod normalise;
mod recording;
mod resample;
mod reverb;
mod segments;
mod summit;
mod trim;
mod webrtc;

pub use audio::{Audio, ChannelChoice, PcmCoding, PcmFormat, check_finite};
pub use convolution::Convolver;
pub use delta::{DeltaStream, Derivative, delta};
pub use error::{Result, SignalError};
pub use filter::{Biquad, Cascade, Weighting, deemphasise, filter_recursively, preemphasise};
pub use fourier::{
    Inlet, Outlet, PreciseTransform, RealBlock, smooth_length_at_least, transform_roots,
};
pub use frame::{
    Conditioning, FrameQueue, FrameRows, FrameSpectrum, Framing, OverlapAdd, Padding,
    SpectrumSettings, Symmetry, Tile, Window, first_centre, invertible, sample_before,
    transpose_into,
};
pub use interrupt::{checkpoint, interruptible};
pub use kept::Kept;
pub use large::{with_room, zeros};
pub use level::{EnergyVad, LevelStream, Levels, energy};
pub use linear_prediction::{ROOTS_TOGETHER, burg, polynomial_roots};
pub use loudness::{Loudness, LoudnessMeter, SILENCE_LUFS, integrated_loudness};
pub use normalise::{GainMeter, LevelTarget, amplify, normalise};
pub use recording::{InMemory, Recording, count_samples, each_frames};
pub use resample::{BrickWall, BrickWallStream, Quality, ResampleStream, Resampler};
pub use reverb::{Reverb, ReverbSettings};
pub use segments::{Bridging, Segment, segments};
pub use summit::{parabola, summit};
pub use trim::{TrimLook, TrimSettings, trim};
pub use webrtc::{FrameMillis, WebrtcMode, WebrtcStream, WebrtcVad};
