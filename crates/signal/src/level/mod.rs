//! What can be said of a frame without a transform: level, peak, zero crossings, clipping, and speech by its
//! level alone.

mod cpu;
mod loud_hops;
mod stream;

pub use cpu::Levels;
pub use cpu::energy;
pub use loud_hops::EnergyVad;
pub use stream::LevelStream;
