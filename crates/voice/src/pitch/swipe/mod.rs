//! SWIPE' (Camacho 2007) as SPTK's `swipe` computes it: the pitch whose prime harmonics explain the spectrum
//! best, each candidate heard through the window that suits it.
//!
//! SPTK takes samples of 16 bits; ours, from −1 to 1, are theirs divided by 32 768, as it divides them itself. The
//! level matters, because its splines do not scale with the signal: where SPTK is given samples from −1 to 1, give
//! them here divided by 32 768.

mod cpu;
mod cuda;
mod loudness;
mod plan;
mod strength;
mod workload;

pub use cpu::{Swipe, SwipeStream, SwipeTrack};
pub use cuda::swipe_on_cuda;
pub(crate) use workload::SWIPE;
