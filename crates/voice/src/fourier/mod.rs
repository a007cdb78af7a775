//! Discrete Fourier transforms of blocks of frames, any length.

mod butterfly;
mod inlet;
mod outlet;
mod plan;
mod points;
mod real;
mod roots;

pub(crate) use inlet::Inlet;
pub(crate) use outlet::Outlet;
pub(crate) use plan::smooth_length_at_least;
pub(crate) use real::RealBlock;
pub(crate) use roots::transform_roots;
