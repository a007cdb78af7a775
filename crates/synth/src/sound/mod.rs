//! What each voice sounds like: envelopes, oscillators, and the blocks that they are rendered in.

pub(crate) mod dither;
pub mod envelope;
pub mod instrument;
pub(crate) mod kick;
pub(crate) mod limiter;
pub mod master;
pub mod oscillator;
pub(crate) mod struck;
pub(crate) mod swell;
pub mod technique;
pub(crate) mod tone;
pub(crate) mod variant;

/// Frames that are rendered at a time, on a grid that starts with the stream.
///
/// Whatever block size a caller asks for is cut from these, which is why block sizes cannot be
/// heard; amplitudes are cubics over this many samples (see [`tone`]).
pub const QUANTUM: usize = 64;

/// One channel of a quantum.
pub(crate) type Lane = [f32; QUANTUM];

/// Something that begins with a cache line: a vector that lies across two costs twice.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(crate) struct Aligned<T>(pub(crate) T);

/// The numbers 0 to 63: conversions of 64-bit counters would cost as much as what they are used for.
pub(crate) static MOMENTS: Aligned<Lane> = {
    let mut moments = [0.0; QUANTUM];
    let mut j = 0;
    while j < QUANTUM {
        moments[j] = j as f32;
        j += 1;
    }
    Aligned(moments)
};
