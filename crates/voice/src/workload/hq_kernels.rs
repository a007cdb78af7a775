//! The kernels of the `hq` tracker, with what they take.

use warpsmith_core::Element::{F32, F64, U32, U64};
use warpsmith_core::Parameter::{In, Out, Value};
use warpsmith_core::{KernelImage, packed};

// SAFETY: `hq_correlations` in `cuda/hq.cu` takes these in this order. Window, tables, shared memory and results
// are checked before the first frame, a frame's samples before it is read.
pub(super) static CORRELATIONS: KernelImage = unsafe {
    KernelImage::trusted(
        "voice/hq",
        "hq_correlations",
        &[
            In(F32),
            In(U64),
            In(F32),
            In(F32),
            Out(F32),
            Out(F32),
            Value(U32),
            Value(U32),
            Value(U32),
            Value(U32),
            Value(U32),
        ],
        packed!("cuda/hq.ptx"),
    )
};

// SAFETY: `hq_candidates` takes these in this order. Its shared memory is checked first; frames are those that all
// buffers of frames have, and neighbours are cut at the file's and at those.
pub(super) static CANDIDATES: KernelImage = unsafe {
    KernelImage::trusted(
        "voice/hq",
        "hq_candidates",
        &[
            In(F32),
            In(U64),
            In(U64),
            Out(U32),
            Out(F64),
            Out(F32),
            Value(U32),
            Value(U32),
            Value(U32),
            Value(F32),
            Value(F32),
            Value(F64),
            Value(F64),
            Value(F64),
            Value(F64),
            Value(F64),
        ],
        packed!("cuda/hq.ptx"),
    )
};

// SAFETY: `hq_repetition` in `cuda/hq_repetition.cu` takes these in this order. Its shared memory is checked first,
// the longest lag of a frame against it, every sample against its file; frames are those that all buffers have.
pub(super) static REPETITION: KernelImage = unsafe {
    KernelImage::trusted(
        "voice/hq_repetition",
        "hq_repetition",
        &[
            In(F32),
            In(U64),
            In(U64),
            In(U64),
            In(F32),
            Out(U32),
            Out(F64),
            Out(F32),
            Value(U32),
            Value(U32),
            Value(U32),
            Value(U32),
            Value(F64),
            Value(F64),
            Value(F64),
            Value(F64),
        ],
        packed!("cuda/hq_repetition.ptx"),
    )
};

// SAFETY: `hq_hearing` in `cuda/hq_contour.cu` takes these in this order. A frame's window is checked against shared
// memory and its file, frames against all buffers.
pub(super) static HEARING: KernelImage = unsafe {
    KernelImage::trusted(
        "voice/hq_contour",
        "hq_hearing",
        &[
            In(F32),
            In(U64),
            In(U64),
            In(U64),
            In(F32),
            Out(F32),
            Value(U32),
            Value(U32),
            Value(F64),
        ],
        packed!("cuda/hq_contour.ptx"),
    )
};

// SAFETY: `hq_contour` takes these in this order and looks at frames of one file that both buffers have.
pub(super) static CONTOUR: KernelImage = unsafe {
    KernelImage::trusted(
        "voice/hq_contour",
        "hq_contour",
        &[In(F32), In(U64), In(U64), Out(F32), Value(F64)],
        packed!("cuda/hq_contour.ptx"),
    )
};
