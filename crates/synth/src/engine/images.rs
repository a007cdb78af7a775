//! The kernels of `cuda/voices.cu`, with what each promises.

use warpsmith_core::{Element, KernelImage, Parameter, ptx};

const PTX: &[u8] = ptx!("synth/voices");

const fn block(entry: &'static str, parameters: &'static [Parameter]) -> KernelImage {
    // SAFETY: `render_block` reads notes below both an offset and the table's length, offsets below
    // theirs, the kick behind `< kick_length`; each entry stores behind a check against `out_length`.
    unsafe { KernelImage::trusted("synth/voices", entry, parameters, PTX) }
}

macro_rules! block_parameters {
    ($out:ident) => {
        &[
            Parameter::In(Element::U64),
            Parameter::In(Element::U32),
            Parameter::In(Element::F32),
            Parameter::Out(Element::$out),
            Parameter::Value(Element::U64),
            Parameter::Value(Element::U32),
            Parameter::Value(Element::U32),
        ]
    };
}

/// Notes to interleaved 16-bit stereo.
pub(crate) static BLOCK_PCM16: KernelImage = block("block_pcm16", block_parameters!(I16));
/// Notes to 16-bit mono.
pub(crate) static BLOCK_MONO16: KernelImage = block("block_mono16", block_parameters!(I16));
/// Notes to interleaved floats.
pub(crate) static BLOCK_F32: KernelImage = block("block_f32", block_parameters!(F32));

/// An operator of a launch per voice.
const fn operator(entry: &'static str, parameters: &'static [Parameter]) -> KernelImage {
    // SAFETY: each of these kernels returns at once where the note lies beyond the table or the
    // element beyond a buffer that it touches.
    unsafe { KernelImage::trusted("synth/voices", entry, parameters, PTX) }
}

/// One note into sums.
pub(crate) static VOICE_ADD: KernelImage = operator(
    "voice_add",
    &[
        Parameter::In(Element::U64),
        Parameter::In(Element::F32),
        Parameter::Out(Element::F32),
        Parameter::Value(Element::U32),
        Parameter::Value(Element::U32),
        Parameter::Value(Element::U32),
    ],
);

/// The sine of a note into a buffer.
pub(crate) static SINE_INTO: KernelImage = operator(
    "sine_into",
    &[
        Parameter::In(Element::U64),
        Parameter::Out(Element::F32),
        Parameter::Value(Element::U32),
    ],
);

/// The saw of a note into a buffer.
pub(crate) static SAW_INTO: KernelImage = operator(
    "saw_into",
    &[
        Parameter::In(Element::U64),
        Parameter::Out(Element::F32),
        Parameter::Value(Element::U32),
        Parameter::Value(Element::U32),
    ],
);

/// The amplitude of a note into a buffer.
pub(crate) static ENVELOPE_INTO: KernelImage = operator(
    "envelope_into",
    &[
        Parameter::In(Element::U64),
        Parameter::Out(Element::F32),
        Parameter::Value(Element::U32),
    ],
);

/// One buffer added to another.
pub(crate) static ADD_INTO: KernelImage = operator(
    "add_into",
    &[Parameter::In(Element::F32), Parameter::Out(Element::F32)],
);

/// One buffer multiplied into another.
pub(crate) static MULTIPLY_INTO: KernelImage = operator(
    "multiply_into",
    &[Parameter::In(Element::F32), Parameter::Out(Element::F32)],
);

/// A finished voice into the sums.
pub(crate) static MIX_INTO: KernelImage = operator(
    "mix_into",
    &[
        Parameter::In(Element::F32),
        Parameter::In(Element::U64),
        Parameter::Out(Element::F32),
        Parameter::Value(Element::U32),
    ],
);

/// Sums to 16-bit samples; clears the sums.
pub(crate) static MASTER_PCM16: KernelImage = operator(
    "master_pcm16",
    &[
        Parameter::Out(Element::F32),
        Parameter::Out(Element::I16),
        Parameter::Value(Element::U32),
    ],
);
