//! Discrete Fourier transforms of blocks of frames, any length.

mod butterfly;
mod inlet;
mod outlet;
mod plan;
mod points;
mod precise;
mod real;
mod roots;

pub use inlet::Inlet;
pub use outlet::Outlet;
pub use plan::smooth_length_at_least;
pub use precise::PreciseTransform;
pub use real::RealBlock;
pub use roots::transform_roots;
