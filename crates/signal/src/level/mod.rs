//! What can be said of a frame without a transform: level, peak, zero crossings, clipping.

mod cpu;
mod stream;

pub use cpu::Levels;
pub use cpu::energy;
pub use stream::LevelStream;
