//! Frames of a signal: where they lie, under which window, and their spectra in blocks.

mod centred;
mod framing;
mod hop_weights;
mod overlap_add;
mod queue;
mod rows;
mod spectrum;
mod tile;
mod window;

pub use centred::{first_centre, sample_before};
pub use framing::{Framing, Padding};
pub use overlap_add::{OverlapAdd, invertible};
pub use queue::FrameQueue;
pub use rows::FrameRows;
pub use spectrum::{Conditioning, FrameSpectrum, SpectrumSettings};
pub use tile::{Tile, transpose_into};
pub use window::{Symmetry, Window};
