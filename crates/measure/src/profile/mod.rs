//! Profilers: the right nsys or ncu command, and what they wrote, as measurements of our own.

pub mod device_span;
pub mod helper_kernels;
pub mod ncu;
pub mod tool;
