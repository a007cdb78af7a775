//! Frames of a signal: where they lie, under which window, their spectra in blocks, and what the kernels and
//! workloads over such frames share.

pub(crate) mod feature;
mod framing;
mod queue;
mod rows;
pub(crate) mod source;
mod spectrum;
mod tile;
mod window;

pub use framing::{Framing, Padding};
pub(crate) use queue::FrameQueue;
pub(crate) use rows::FrameRows;
pub(crate) use spectrum::FrameSpectrum;
pub use spectrum::{Conditioning, SpectrumSettings};
pub(crate) use tile::{Tile, transpose_into};
pub use window::{Symmetry, Window};
