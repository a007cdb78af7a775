//! The kernels of `voices.cu`, with what each promises.

use warpsmith_core::{KernelImage, kernel, ptx};

const PTX: &[u8] = ptx!("synth/voices");

/// Notes to interleaved 16-bit stereo.
// SAFETY: `render_block` reads notes below both an offset and the table's length, offsets below
// theirs, the kick behind `< kick_length`; each entry stores behind a check against `out_length`.
pub(crate) static BLOCK_PCM16: KernelImage = unsafe {
    kernel!("synth/voices", PTX, block_pcm16(in u64, in u32, in f32, out i16, u64, u32, u32))
};

/// Notes to 16-bit mono.
// SAFETY: as above.
pub(crate) static BLOCK_MONO16: KernelImage = unsafe {
    kernel!("synth/voices", PTX, block_mono16(in u64, in u32, in f32, out i16, u64, u32, u32))
};

/// Notes to interleaved floats.
// SAFETY: as above.
pub(crate) static BLOCK_F32: KernelImage = unsafe {
    kernel!("synth/voices", PTX, block_f32(in u64, in u32, in f32, out f32, u64, u32, u32))
};

/// One note into sums.
// SAFETY: each operator of a launch per voice returns at once where the note lies beyond the table
// or the element beyond a buffer that it touches.
pub(crate) static VOICE_ADD: KernelImage =
    unsafe { kernel!("synth/voices", PTX, voice_add(in u64, in f32, out f32, u32, u32, u32)) };

/// The sine of a note into a buffer.
// SAFETY: as above.
pub(crate) static SINE_INTO: KernelImage =
    unsafe { kernel!("synth/voices", PTX, sine_into(in u64, out f32, u32)) };

/// The saw of a note into a buffer.
// SAFETY: as above.
pub(crate) static SAW_INTO: KernelImage =
    unsafe { kernel!("synth/voices", PTX, saw_into(in u64, out f32, u32, u32)) };

/// The amplitude of a note into a buffer.
// SAFETY: as above.
pub(crate) static ENVELOPE_INTO: KernelImage =
    unsafe { kernel!("synth/voices", PTX, envelope_into(in u64, out f32, u32)) };

/// One buffer added to another.
// SAFETY: as above.
pub(crate) static ADD_INTO: KernelImage =
    unsafe { kernel!("synth/voices", PTX, add_into(in f32, out f32)) };

/// One buffer multiplied into another.
// SAFETY: as above.
pub(crate) static MULTIPLY_INTO: KernelImage =
    unsafe { kernel!("synth/voices", PTX, multiply_into(in f32, out f32)) };

/// A finished voice into the sums.
// SAFETY: as above.
pub(crate) static MIX_INTO: KernelImage =
    unsafe { kernel!("synth/voices", PTX, mix_into(in f32, in u64, out f32, u32)) };

/// Sums to 16-bit samples; clears the sums.
// SAFETY: as above.
pub(crate) static MASTER_PCM16: KernelImage =
    unsafe { kernel!("synth/voices", PTX, master_pcm16(out f32, out i16, u32)) };
