//! The shape of a spectrum in a few numbers: where it lies, how wide it is, how noisy, how it moves.
//!
//! Magnitudes are the weights (librosa's convention), except for flatness, which compares powers.
//! A silent frame has centroid, bandwidth, roll-off, slope and entropy 0 and flatness 1.

mod cpu;
mod cuda;
mod stream;
mod workload;

pub use cpu::{SpectralShape, SpectralStatistics};
pub use cuda::{statistics_in_place, statistics_on_cuda};
pub use stream::StatisticsStream;
pub(crate) use workload::STATISTICS;
