//! Profilers: the right nsys or ncu command, and what they wrote, as measurements of our own.

pub mod ncu;
pub mod nsys;
pub mod tool;
