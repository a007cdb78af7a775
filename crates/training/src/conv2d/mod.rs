//! `training/conv2d`: convolution of pictures over channels.

mod cpu;
mod cuda;
mod definition;
mod workload;

pub use cpu::Conv2d;
pub(crate) use workload::CONV2D;
