//! The kernels of the `hq` tracker, with what they take.

use warpsmith_core::{KernelImage, kernel};

// SAFETY: `hq_correlations` in `hq.cu` takes these in this order. Window, tables, shared memory and results
// are checked before the first frame, a frame's samples before it is read.
pub(super) static CORRELATIONS: KernelImage = unsafe {
    kernel!("voice/hq", hq_correlations(
        in f32, in u64, in f32, in f32, out f32, out f32, u32, u32, u32, u32, u32
    ))
};

// SAFETY: `hq_candidates` takes these in this order. Its shared memory is checked first; frames are those that all
// buffers of frames have, and neighbours are cut at the file's and at those.
pub(super) static CANDIDATES: KernelImage = unsafe {
    kernel!("voice/hq", hq_candidates(
        in f32, in u64, in u64, out u32, out f64, out f32, u32, u32, u32, f32, f32, f64, f64,
        f64, f64, f64
    ))
};

// SAFETY: `hq_repetition` in `hq_repetition.cu` takes these in this order. Its shared memory is checked first,
// the longest lag of a frame against it, every sample against its file; frames are those that all buffers have.
pub(super) static REPETITION: KernelImage = unsafe {
    kernel!("voice/hq_repetition", hq_repetition(
        in f32, in u64, in u64, in u64, in f32, out u32, out f64, out f32, u32, u32, u32, u32,
        f64, f64, f64, f64
    ))
};

// SAFETY: `hq_hearing` in `hq_contour.cu` takes these in this order. A frame's window is checked against shared
// memory and its file, frames against all buffers.
pub(super) static HEARING: KernelImage = unsafe {
    kernel!("voice/hq_contour", hq_hearing(
        in f32, in u64, in u64, in u64, in f32, out f32, u32, u32, f64
    ))
};

// SAFETY: `hq_contour` takes these in this order and looks at frames of one file that both buffers have.
pub(super) static CONTOUR: KernelImage =
    unsafe { kernel!("voice/hq_contour", hq_contour(in f32, in u64, in u64, out f32, f64)) };
